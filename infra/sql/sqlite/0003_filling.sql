-- Generators, refill, samples, and jobs that read a file. What was there before keeps its meaning.

-- The generator is a JSON object, NULL for none. Of the marks 0 is none.
ALTER TABLE pools ADD COLUMN generator TEXT;
ALTER TABLE pools ADD COLUMN low INTEGER NOT NULL DEFAULT 0 CHECK (low >= 0);
ALTER TABLE pools ADD COLUMN target INTEGER NOT NULL DEFAULT 0 CHECK (target >= 0);
ALTER TABLE pools ADD COLUMN low_hours INTEGER NOT NULL DEFAULT 0 CHECK (low_hours >= 0);
ALTER TABLE pools ADD COLUMN target_hours INTEGER NOT NULL DEFAULT 0 CHECK (target_hours >= 0);

-- Where the refill of a pool stands.
CREATE TABLE refills (
    pool      TEXT    NOT NULL PRIMARY KEY, -- its name
    version   INTEGER NOT NULL CHECK (version > 0),
    updated   INTEGER, -- NULL for never, as below
    batch     TEXT    NOT NULL,
    ids       TEXT    NOT NULL, -- a JSON array
    up_to     INTEGER NOT NULL CHECK (up_to >= 0),
    filling   INTEGER NOT NULL CHECK (filling IN (0, 1)),
    dry       TEXT    NOT NULL,
    dry_since INTEGER,
    generator TEXT -- as in pools
) STRICT;

-- Of which sequence the refill made it to count a period; empty for none.
ALTER TABLE sequences ADD COLUMN period_of TEXT NOT NULL DEFAULT '';

-- How pools and sequences stood, at most once a minute: minutes since 1970.
CREATE TABLE pool_samples (
    pool      INTEGER NOT NULL REFERENCES pools (pool),
    minute    INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    available INTEGER NOT NULL,
    used      INTEGER NOT NULL,
    PRIMARY KEY (pool, minute)
) STRICT, WITHOUT ROWID;

CREATE TABLE sequence_samples (
    sequence  TEXT    NOT NULL, -- its name
    minute    INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    available INTEGER NOT NULL,
    used      INTEGER NOT NULL,
    PRIMARY KEY (sequence, minute)
) STRICT, WITHOUT ROWID;

CREATE INDEX sequence_samples_minute ON sequence_samples (minute);

ALTER TABLE jobs ADD COLUMN faults INTEGER NOT NULL DEFAULT 0 CHECK (faults >= 0);
ALTER TABLE jobs ADD COLUMN change TEXT NOT NULL DEFAULT ''; -- what the last one is known by
ALTER TABLE jobs ADD COLUMN why TEXT NOT NULL DEFAULT '';
ALTER TABLE jobs ADD COLUMN started INTEGER; -- NULL before
ALTER TABLE jobs ADD COLUMN total INTEGER NOT NULL DEFAULT 0 CHECK (total >= 0);
ALTER TABLE jobs ADD COLUMN tally TEXT NOT NULL DEFAULT '{}'; -- this and the next three are JSON
ALTER TABLE jobs ADD COLUMN log TEXT NOT NULL DEFAULT '[]';
ALTER TABLE jobs ADD COLUMN input TEXT NOT NULL DEFAULT '{}';
ALTER TABLE jobs ADD COLUMN inputs TEXT NOT NULL DEFAULT '[]';
ALTER TABLE jobs ADD COLUMN input_column INTEGER NOT NULL DEFAULT 0 CHECK (input_column >= -1);
ALTER TABLE parts ADD COLUMN tally TEXT NOT NULL DEFAULT '{}';

-- Holds the jobs that go on: the cost of finding them does not depend on how many have ended.
CREATE INDEX jobs_open ON jobs (id) WHERE state NOT IN ('done', 'failed', 'cancelled');

-- What a job reads.
CREATE TABLE inputs (
    piece INTEGER PRIMARY KEY,
    job   TEXT    NOT NULL REFERENCES jobs (id),
    name  TEXT    NOT NULL,
    data  BLOB    NOT NULL,
    UNIQUE (job, name)
) STRICT;
