-- Holds and ways back, kept answers, credentials and jobs. What was there before keeps its meaning.

ALTER TABLE pools ADD COLUMN on_release TEXT NOT NULL DEFAULT 'return' CHECK (on_release IN ('return', 'retire'));
ALTER TABLE pools ADD COLUMN require_key INTEGER NOT NULL DEFAULT 0 CHECK (require_key IN (0, 1));
ALTER TABLE sequences ADD COLUMN require_key INTEGER NOT NULL DEFAULT 0 CHECK (require_key IN (0, 1));

-- Until when an ID is held. last_token is the token by which it came back the last time. forget_at is when a pool that
-- forgets does so with what is claimed: with the end of its key's retention, or as long after its confirmation. From then
-- on the row counts as absent.
ALTER TABLE ids ADD COLUMN hold_until INTEGER CHECK ((state = 'held') = (hold_until IS NOT NULL));
ALTER TABLE ids ADD COLUMN last_token TEXT;
ALTER TABLE ids ADD COLUMN forget_at INTEGER CHECK (forget_at IS NULL OR state = 'claimed');

-- Until now such a pool had rows of what keys claimed, and forgot each with its key: 24 hours after the claim.
UPDATE ids SET forget_at = taken + 86400000000000
WHERE state = 'claimed' AND pool IN (SELECT pool FROM pools WHERE policy = 'forget');

-- What is due and what is on its way back. An ID that is back gets a new n, the highest: free IDs are handed out in the
-- order in which they became free.
CREATE INDEX ids_held ON ids (pool, hold_until) WHERE state = 'held';
CREATE INDEX ids_returning ON ids (pool, n) WHERE state = 'returning';
CREATE INDEX ids_forget ON ids (pool, forget_at) WHERE forget_at IS NOT NULL;

ALTER TABLE claim_keys ADD COLUMN hold_until INTEGER; -- NULL where the IDs were claimed for good

-- Requests with a key that are neither claims nor leases: the intent, then the answer as it was given. shared: it is open,
-- and more attempts than the first have found it.
CREATE TABLE kept_keys (
    hash        TEXT    NOT NULL PRIMARY KEY,
    fingerprint TEXT    NOT NULL,
    token       TEXT    NOT NULL,
    at          INTEGER NOT NULL,
    expires     INTEGER NOT NULL,
    done        INTEGER NOT NULL CHECK (done IN (0, 1)),
    answer      BLOB    NOT NULL,
    shared      INTEGER NOT NULL CHECK (shared IN (0, 1)),
    CHECK (done = 1 OR answer = x''),
    CHECK (done = 0 OR shared = 0)
) STRICT;

CREATE INDEX kept_keys_expires ON kept_keys (expires);

CREATE TABLE credentials (
    id             TEXT    NOT NULL PRIMARY KEY,
    client         TEXT    NOT NULL,
    description    TEXT    NOT NULL,
    scopes         TEXT    NOT NULL, -- a JSON array
    quota          INTEGER NOT NULL CHECK (quota >= 0),
    version        INTEGER NOT NULL CHECK (version > 0),
    created        INTEGER NOT NULL,
    expires        INTEGER, -- NULL for never
    revoked        INTEGER, -- NULL if it is not
    hash           TEXT    NOT NULL,
    rotated        INTEGER,
    rotated_for    TEXT    NOT NULL,
    previous_hash  TEXT    NOT NULL,
    previous_until INTEGER
) STRICT, WITHOUT ROWID;

-- What a credential has used of an hour.
CREATE TABLE quotas (
    credential TEXT    NOT NULL,
    hour       INTEGER NOT NULL,
    used       INTEGER NOT NULL CHECK (used >= 0),
    PRIMARY KEY (credential, hour)
) STRICT, WITHOUT ROWID;

-- One row: what all processes share as a secret.
CREATE TABLE shared_secret (
    one   INTEGER PRIMARY KEY CHECK (one = 1),
    value BLOB    NOT NULL CHECK (length(value) = 32)
) STRICT;

CREATE TABLE jobs (
    id       TEXT    NOT NULL PRIMARY KEY,
    kind     TEXT    NOT NULL,
    pool     TEXT    NOT NULL, -- its name
    of_state TEXT    NOT NULL,
    format   TEXT    NOT NULL,
    client   TEXT    NOT NULL,
    state    TEXT    NOT NULL,
    version  INTEGER NOT NULL CHECK (version > 0),
    created  INTEGER NOT NULL,
    updated  INTEGER NOT NULL,
    done     INTEGER NOT NULL CHECK (done >= 0),
    parts    INTEGER NOT NULL CHECK (parts >= 0),
    mark     TEXT    NOT NULL,
    tries    INTEGER NOT NULL CHECK (tries >= 0),
    failure  TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX jobs_created ON jobs (created);

CREATE TABLE parts (
    part INTEGER PRIMARY KEY,
    job  TEXT    NOT NULL REFERENCES jobs (id),
    k    INTEGER NOT NULL CHECK (k >= 0), -- its number in the job, from 0
    data BLOB    NOT NULL,
    ids  INTEGER NOT NULL,
    next TEXT    NOT NULL,
    UNIQUE (job, k)
) STRICT;

-- More last lines of defence: an ID takes no way but those of the state machine, and the counts lose nothing.
CREATE TRIGGER ids_move BEFORE UPDATE OF state ON ids
WHEN NEW.generation <> OLD.generation + (NEW.state = 'free') OR NOT CASE OLD.state
    WHEN 'free' THEN NEW.state IN ('held', 'claimed')
    WHEN 'held' THEN NEW.state IN ('claimed', 'returning', 'retired') AND NEW.token = OLD.token
    WHEN 'claimed' THEN NEW.state IN ('returning', 'retired') AND NEW.token = OLD.token
    WHEN 'returning' THEN NEW.state = 'free'
    ELSE 0 END
BEGIN
    SELECT RAISE(ABORT, 'the ID cannot go from that state to this one');
END;

CREATE TRIGGER ids_forget_nothing_else BEFORE DELETE ON ids
WHEN OLD.state <> 'free' AND OLD.forget_at IS NULL
BEGIN
    SELECT RAISE(ABORT, 'the ID is not one that is forgotten');
END;

CREATE TRIGGER levels_add_up BEFORE UPDATE ON levels
WHEN NEW.n_seeded - (NEW.n_free + NEW.n_held + NEW.n_claimed + NEW.n_returning + NEW.n_retired + NEW.n_forgotten)
    <> OLD.n_seeded - (OLD.n_free + OLD.n_held + OLD.n_claimed + OLD.n_returning + OLD.n_retired + OLD.n_forgotten)
BEGIN
    SELECT RAISE(ABORT, 'the counts of the pool would not add up');
END;
