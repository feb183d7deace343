-- The first schema. Times are nanoseconds since 1970 in UTC. Names and IDs compare byte by byte.

CREATE TABLE pools (
    pool        INTEGER PRIMARY KEY,
    name        TEXT    NOT NULL UNIQUE,
    description TEXT    NOT NULL,
    policy      TEXT    NOT NULL CHECK (policy IN ('keep', 'forget')),
    fold_case   INTEGER NOT NULL CHECK (fold_case IN (0, 1)),
    max_batch   INTEGER NOT NULL CHECK (max_batch > 0),
    state       TEXT    NOT NULL CHECK (state IN ('active', 'paused', 'draining', 'deleted')),
    version     INTEGER NOT NULL CHECK (version > 0),
    created     INTEGER NOT NULL
) STRICT;

-- How many IDs a pool has in each state, kept in the transaction that changes them, so that nobody ever counts rows.
CREATE TABLE levels (
    pool        INTEGER PRIMARY KEY REFERENCES pools (pool),
    n_seeded    INTEGER NOT NULL DEFAULT 0 CHECK (n_seeded >= 0),
    n_free      INTEGER NOT NULL DEFAULT 0 CHECK (n_free >= 0),
    n_held      INTEGER NOT NULL DEFAULT 0 CHECK (n_held >= 0),
    n_claimed   INTEGER NOT NULL DEFAULT 0 CHECK (n_claimed >= 0),
    n_returning INTEGER NOT NULL DEFAULT 0 CHECK (n_returning >= 0),
    n_retired   INTEGER NOT NULL DEFAULT 0 CHECK (n_retired >= 0),
    n_forgotten INTEGER NOT NULL DEFAULT 0 CHECK (n_forgotten >= 0)
) STRICT;

-- One row per ID that the pool knows. n is the order of seeding, in which free IDs are handed out.
CREATE TABLE ids (
    n          INTEGER PRIMARY KEY,
    pool       INTEGER NOT NULL REFERENCES pools (pool),
    id         TEXT    NOT NULL,
    state      TEXT    NOT NULL CHECK (state IN ('free', 'held', 'claimed', 'returning', 'retired')),
    generation INTEGER NOT NULL,
    job        TEXT    NOT NULL,
    token      TEXT,
    client     TEXT,
    owner      TEXT,
    metadata   TEXT,    -- a JSON object, NULL for none
    taken      INTEGER,
    UNIQUE (pool, id),
    CHECK (state = 'free' OR token IS NOT NULL)
) STRICT;

-- Holds free rows only: the cost of a claim does not depend on how many IDs were claimed before.
CREATE INDEX ids_free ON ids (pool, n) WHERE state = 'free';

-- What a batch of a seeding became, in a pool that forgets: such a pool cannot tell from its IDs what a job put before.
CREATE TABLE seed_batches (
    pool     INTEGER NOT NULL REFERENCES pools (pool),
    job      TEXT    NOT NULL,
    digest   TEXT    NOT NULL, -- over the IDs of the batch, in order
    outcomes TEXT    NOT NULL, -- one letter per ID
    at       INTEGER NOT NULL,
    PRIMARY KEY (pool, job, digest)
) STRICT, WITHOUT ROWID;

CREATE INDEX seed_batches_at ON seed_batches (pool, at);

-- Idempotency records, written in the transaction of the claim or lease that they belong to.
CREATE TABLE claim_keys (
    hash        TEXT    PRIMARY KEY,
    fingerprint TEXT    NOT NULL,
    pool        INTEGER NOT NULL REFERENCES pools (pool),
    ids         TEXT    NOT NULL, -- a JSON array, in the order of the first answer
    token       TEXT    NOT NULL,
    at          INTEGER NOT NULL,
    expires     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX claim_keys_expires ON claim_keys (pool, expires);

CREATE TABLE sequences (
    sequence     INTEGER PRIMARY KEY,
    name         TEXT    NOT NULL UNIQUE,
    description  TEXT    NOT NULL,
    first_number INTEGER NOT NULL CHECK (first_number >= 0),
    from_zero    INTEGER NOT NULL CHECK (from_zero IN (0, 1)),
    last_number  INTEGER NOT NULL CHECK (last_number >= first_number),
    max_lease    INTEGER NOT NULL CHECK (max_lease > 0),
    segment      INTEGER NOT NULL CHECK (segment > 0),
    state        TEXT    NOT NULL CHECK (state IN ('active', 'paused', 'stopped', 'deleted')),
    version      INTEGER NOT NULL CHECK (version > 0),
    created      INTEGER NOT NULL
) STRICT;

-- The position of a sequence stands apart from its configuration, so that a lost one is seen to be lost. It is the last
-- number leased: the number after the greatest possible one would not fit the column.
CREATE TABLE counters (
    sequence INTEGER PRIMARY KEY REFERENCES sequences (sequence),
    position INTEGER NOT NULL CHECK (position >= -1),
    epoch    INTEGER NOT NULL CHECK (epoch > 0)
) STRICT;

-- The ledger: every range that was ever answered. Its ranges are disjoint, so they stand in the same order by low and by high.
CREATE TABLE leases (
    sequence INTEGER NOT NULL REFERENCES sequences (sequence),
    low      INTEGER NOT NULL CHECK (low >= 0),
    high     INTEGER NOT NULL CHECK (high >= low),
    token    TEXT    NOT NULL,
    client   TEXT    NOT NULL,
    at       INTEGER NOT NULL,
    epoch    INTEGER NOT NULL,
    PRIMARY KEY (sequence, low)
) STRICT, WITHOUT ROWID;

CREATE TABLE lease_keys (
    hash        TEXT    PRIMARY KEY,
    fingerprint TEXT    NOT NULL,
    sequence    INTEGER NOT NULL REFERENCES sequences (sequence),
    low         INTEGER NOT NULL,
    high        INTEGER NOT NULL,
    epoch       INTEGER NOT NULL,
    token       TEXT    NOT NULL,
    at          INTEGER NOT NULL,
    expires     INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX lease_keys_expires ON lease_keys (expires);

-- The last lines of defence. A range that overlaps the ledger and a change of the trail fail whoever asks for them.
CREATE TRIGGER leases_disjoint BEFORE INSERT ON leases
WHEN EXISTS (
    SELECT 1 FROM (SELECT high FROM leases WHERE sequence = NEW.sequence AND low <= NEW.high ORDER BY low DESC LIMIT 1)
    WHERE high >= NEW.low
)
BEGIN
    SELECT RAISE(ABORT, 'the range overlaps one in the ledger');
END;

CREATE TABLE trail (
    id      TEXT    PRIMARY KEY,
    at      INTEGER NOT NULL,
    client  TEXT    NOT NULL,
    action  TEXT    NOT NULL,
    target  TEXT    NOT NULL,
    detail  TEXT    NOT NULL,
    result  TEXT    NOT NULL,
    request TEXT    NOT NULL,
    address TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TRIGGER trail_is_not_changed BEFORE UPDATE ON trail
BEGIN
    SELECT RAISE(ABORT, 'the trail is append-only');
END;

CREATE TRIGGER trail_is_not_cut BEFORE DELETE ON trail
BEGIN
    SELECT RAISE(ABORT, 'the trail is append-only');
END;
