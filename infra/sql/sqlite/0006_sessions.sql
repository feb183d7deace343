-- Who is signed in to the dashboard. A session that was ended stays until its time is over, so that nothing makes it anew.
CREATE TABLE sessions (
    id      TEXT    NOT NULL PRIMARY KEY,
    client  TEXT    NOT NULL,
    name    TEXT    NOT NULL,
    role    TEXT    NOT NULL,
    issuer  TEXT    NOT NULL,
    subject TEXT    NOT NULL,
    created INTEGER NOT NULL,
    seen    INTEGER NOT NULL,
    expires INTEGER NOT NULL CHECK (expires <= ends),
    ends    INTEGER NOT NULL,
    address TEXT    NOT NULL,
    agent   TEXT    NOT NULL,
    ended   INTEGER NOT NULL DEFAULT 0 CHECK (ended IN (0, 1))
) STRICT, WITHOUT ROWID;

CREATE INDEX sessions_ends ON sessions (ends);
CREATE INDEX sessions_client ON sessions (client) WHERE ended = 0;

CREATE TRIGGER sessions_end_for_good BEFORE UPDATE ON sessions
WHEN OLD.ended = 1 OR NEW.seen < OLD.seen OR NEW.expires < OLD.expires
BEGIN
    SELECT RAISE(ABORT, 'a session that was ended stays so, and one that was used has been used');
END;
