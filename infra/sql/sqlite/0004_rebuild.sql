-- Rebuild, restore and audit. What was there before keeps its meaning.

ALTER TABLE sequences ADD COLUMN auto_rebuild INTEGER NOT NULL DEFAULT 0 CHECK (auto_rebuild IN (0, 1));
ALTER TABLE sequences ADD COLUMN resume_share INTEGER NOT NULL DEFAULT 10 CHECK (resume_share BETWEEN 1 AND 100);

-- A rebuild marks a sequence beside its state: with what it was before it is frozen, with a share it is resuming. thawed is the
-- rebuild that ended last. epoch is that of the counter, kept apart from it.
ALTER TABLE sequences ADD COLUMN rebuild TEXT NOT NULL DEFAULT '';
ALTER TABLE sequences ADD COLUMN share INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sequences ADD COLUMN was TEXT NOT NULL DEFAULT '' CHECK (was IN ('', 'active', 'paused', 'stopped', 'resuming') AND CASE
    WHEN rebuild = '' THEN share = 0 AND was = ''
    WHEN was = '' THEN state = 'active' AND share BETWEEN 1 AND 99
    ELSE state <> 'deleted' AND share = 0 END);
ALTER TABLE sequences ADD COLUMN thawed TEXT NOT NULL DEFAULT '';
ALTER TABLE sequences ADD COLUMN epoch INTEGER NOT NULL DEFAULT 1 CHECK (epoch > 0);

UPDATE sequences SET epoch = coalesce((SELECT c.epoch FROM counters c WHERE c.sequence = sequences.sequence), 1);

-- The high-water marks: up to which number a sequence was once seen to be used. They only rise.
CREATE TABLE marks (
    sequence INTEGER PRIMARY KEY REFERENCES sequences (sequence),
    high     INTEGER NOT NULL CHECK (high >= 0),
    epoch    INTEGER NOT NULL CHECK (epoch > 0),
    at       INTEGER NOT NULL
) STRICT;

CREATE TRIGGER marks_rise BEFORE UPDATE ON marks
WHEN NEW.sequence <> OLD.sequence OR NEW.high < OLD.high OR NEW.epoch < OLD.epoch
BEGIN
    SELECT RAISE(ABORT, 'a high-water mark is never lowered');
END;

-- The last rebuild of a sequence.
CREATE TABLE rebuilds (
    sequence TEXT    NOT NULL PRIMARY KEY, -- its name
    version  INTEGER NOT NULL CHECK (version > 0),
    record   TEXT    NOT NULL -- JSON
) STRICT;

-- What a restore carries forward into the ledger and the pools is told apart: in one place it may do what nothing else may. A
-- lease that is carried may overlap others: then numbers are in two hands, which must not be hidden. An entry is never changed
-- but by a carry that extends it, or says anew whose it is where that is lost.
ALTER TABLE leases ADD COLUMN proven INTEGER NOT NULL DEFAULT 1 CHECK (proven IN (0, 1));
ALTER TABLE leases ADD COLUMN carried INTEGER NOT NULL DEFAULT 0 CHECK (carried IN (0, 1) AND (carried = 1 OR proven = 1));

CREATE INDEX leases_carried ON leases (sequence, high) WHERE carried = 1;
CREATE INDEX leases_carried_epoch ON leases (sequence, epoch, high) WHERE carried = 1;

DROP TRIGGER leases_disjoint;

CREATE TRIGGER leases_disjoint BEFORE INSERT ON leases
WHEN NEW.carried = 0 AND (EXISTS (
    SELECT 1 FROM (SELECT high FROM leases WHERE sequence = NEW.sequence AND low <= NEW.high AND carried = 0 ORDER BY low DESC LIMIT 1)
    WHERE high >= NEW.low
) OR EXISTS (
    SELECT 1 FROM leases WHERE sequence = NEW.sequence AND high >= NEW.low AND low <= NEW.high AND carried = 1
))
BEGIN
    SELECT RAISE(ABORT, 'the range overlaps one in the ledger');
END;

CREATE TRIGGER leases_are_only_extended BEFORE UPDATE ON leases
WHEN NOT (NEW.carried = 1 AND NEW.sequence = OLD.sequence AND NEW.low = OLD.low AND (NEW.high > OLD.high OR NEW.high = OLD.high AND OLD.token = ''))
BEGIN
    SELECT RAISE(ABORT, 'an entry of the ledger is not changed');
END;

-- How often a restore has carried the ID forward: further on its way, and never away from whoever has it in the same generation. And
-- whether a restore has brought whoever has it, and nothing was done to it here since.
ALTER TABLE ids ADD COLUMN carried INTEGER NOT NULL DEFAULT 0 CHECK (carried >= 0);
ALTER TABLE ids ADD COLUMN brought INTEGER NOT NULL DEFAULT 0 CHECK (brought IN (0, 1) AND (brought = 0 OR state <> 'free'));

DROP TRIGGER ids_move;

CREATE TRIGGER ids_move BEFORE UPDATE OF state, generation, token ON ids
WHEN NOT CASE NEW.carried - OLD.carried
    WHEN 0 THEN NEW.generation = OLD.generation + (NEW.state = 'free') AND CASE OLD.state
        WHEN 'free' THEN NEW.state IN ('held', 'claimed')
        WHEN 'held' THEN NEW.state IN ('claimed', 'returning', 'retired') AND NEW.token = OLD.token
        WHEN 'claimed' THEN NEW.state IN ('returning', 'retired') AND NEW.token = OLD.token
        WHEN 'returning' THEN NEW.state = 'free'
        ELSE 0 END
    WHEN 1 THEN NEW.state <> 'free' AND OLD.state <> 'retired' AND (NEW.generation > OLD.generation OR NEW.generation = OLD.generation AND CASE OLD.state
        WHEN 'free' THEN 1
        WHEN 'held' THEN NEW.state IN ('claimed', 'returning', 'retired') AND NEW.token = OLD.token
        WHEN 'claimed' THEN NEW.state = 'retired' AND NEW.token = OLD.token
        WHEN 'returning' THEN NEW.state IN ('held', 'claimed', 'retired')
        ELSE 0 END)
    ELSE 0 END
BEGIN
    SELECT RAISE(ABORT, 'the ID cannot go from that state to this one');
END;

-- With this one each state but claimed has an index of its own: a pool is counted anew without a look at its rows.
CREATE INDEX ids_retired ON ids (pool) WHERE state = 'retired';

-- The trail is a chain in each month. What was recorded before is in none: its month is empty.
ALTER TABLE trail ADD COLUMN role TEXT NOT NULL DEFAULT '';
ALTER TABLE trail ADD COLUMN plan TEXT NOT NULL DEFAULT '';
ALTER TABLE trail ADD COLUMN reason TEXT NOT NULL DEFAULT '';
ALTER TABLE trail ADD COLUMN was TEXT NOT NULL DEFAULT '';
ALTER TABLE trail ADD COLUMN became TEXT NOT NULL DEFAULT '';
ALTER TABLE trail ADD COLUMN month TEXT NOT NULL DEFAULT '';
ALTER TABLE trail ADD COLUMN position INTEGER NOT NULL DEFAULT 0 CHECK ((month = '') = (position = 0) AND position >= 0);
ALTER TABLE trail ADD COLUMN previous TEXT NOT NULL DEFAULT '';
ALTER TABLE trail ADD COLUMN hash TEXT NOT NULL DEFAULT '';

CREATE UNIQUE INDEX trail_place ON trail (month, position) WHERE month <> '';
CREATE INDEX trail_unchained ON trail (id) WHERE month = '';

-- Where each month's chain ends, so that it shows when its last records are gone.
CREATE TABLE months (
    month TEXT    NOT NULL PRIMARY KEY,
    last  INTEGER NOT NULL CHECK (last > 0),
    hash  TEXT    NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TRIGGER months_rise BEFORE UPDATE ON months
WHEN NEW.month <> OLD.month OR NEW.last <= OLD.last
BEGIN
    SELECT RAISE(ABORT, 'the trail is append-only');
END;

CREATE TRIGGER months_are_not_cut BEFORE DELETE ON months
BEGIN
    SELECT RAISE(ABORT, 'the trail is append-only');
END;

-- Steps that were begun and not recorded yet.
CREATE TABLE intents (
    id     TEXT    NOT NULL PRIMARY KEY,
    at     INTEGER NOT NULL,
    record TEXT    NOT NULL -- JSON
) STRICT, WITHOUT ROWID;

ALTER TABLE jobs ADD COLUMN spec TEXT NOT NULL DEFAULT '{}'; -- JSON
ALTER TABLE jobs ADD COLUMN verdict TEXT NOT NULL DEFAULT '';
