-- When a credential was last used, to some minutes. It stands apart from the credential: a use changes nothing of that.
CREATE TABLE credential_uses (
    id TEXT    NOT NULL PRIMARY KEY,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
