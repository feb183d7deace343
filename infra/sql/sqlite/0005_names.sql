-- Names, and what a pool or a sequence is, kept apart from its row: by them a row that is lost is known to be lost, and is made
-- anew. What was there before keeps its meaning.

-- A name keeps its number for good, and no number is taken again. Beside them stands a copy of the row, which the triggers keep.
CREATE TABLE pool_names (
    pool         INTEGER PRIMARY KEY,
    name         TEXT    NOT NULL UNIQUE,
    description  TEXT    NOT NULL,
    policy       TEXT    NOT NULL,
    fold_case    INTEGER NOT NULL,
    max_batch    INTEGER NOT NULL,
    on_release   TEXT    NOT NULL,
    require_key  INTEGER NOT NULL,
    generator    TEXT,
    low          INTEGER NOT NULL,
    target       INTEGER NOT NULL,
    low_hours    INTEGER NOT NULL,
    target_hours INTEGER NOT NULL,
    state        TEXT    NOT NULL,
    version      INTEGER NOT NULL,
    created      INTEGER NOT NULL
) STRICT;

CREATE TABLE sequence_names (
    sequence     INTEGER PRIMARY KEY,
    name         TEXT    NOT NULL UNIQUE,
    description  TEXT    NOT NULL,
    first_number INTEGER NOT NULL,
    from_zero    INTEGER NOT NULL,
    last_number  INTEGER NOT NULL,
    max_lease    INTEGER NOT NULL,
    segment      INTEGER NOT NULL,
    require_key  INTEGER NOT NULL,
    period_of    TEXT    NOT NULL,
    auto_rebuild INTEGER NOT NULL,
    resume_share INTEGER NOT NULL,
    state        TEXT    NOT NULL,
    rebuild      TEXT    NOT NULL,
    share        INTEGER NOT NULL,
    was          TEXT    NOT NULL,
    thawed       TEXT    NOT NULL,
    epoch        INTEGER NOT NULL,
    version      INTEGER NOT NULL,
    created      INTEGER NOT NULL
) STRICT;

-- A row that is written has its name and its copy written with it; one that is to have the name or the number of another is refused.
CREATE TRIGGER pools_named AFTER INSERT ON pools
BEGIN
    INSERT INTO pool_names (pool, name, description, policy, fold_case, max_batch, on_release, require_key,
            generator, low, target, low_hours, target_hours, state, version, created)
        SELECT pool, name, description, policy, fold_case, max_batch, on_release, require_key,
            generator, low, target, low_hours, target_hours, state, version, created FROM pools WHERE pool = NEW.pool
        ON CONFLICT (pool) DO UPDATE SET name = excluded.name, description = excluded.description, policy = excluded.policy,
            fold_case = excluded.fold_case, max_batch = excluded.max_batch, on_release = excluded.on_release, require_key = excluded.require_key,
            generator = excluded.generator, low = excluded.low, target = excluded.target, low_hours = excluded.low_hours,
            target_hours = excluded.target_hours, state = excluded.state, version = excluded.version, created = excluded.created;
END;

CREATE TRIGGER pools_copied AFTER UPDATE ON pools
BEGIN
    INSERT INTO pool_names (pool, name, description, policy, fold_case, max_batch, on_release, require_key,
            generator, low, target, low_hours, target_hours, state, version, created)
        SELECT pool, name, description, policy, fold_case, max_batch, on_release, require_key,
            generator, low, target, low_hours, target_hours, state, version, created FROM pools WHERE pool = NEW.pool
        ON CONFLICT (pool) DO UPDATE SET name = excluded.name, description = excluded.description, policy = excluded.policy,
            fold_case = excluded.fold_case, max_batch = excluded.max_batch, on_release = excluded.on_release, require_key = excluded.require_key,
            generator = excluded.generator, low = excluded.low, target = excluded.target, low_hours = excluded.low_hours,
            target_hours = excluded.target_hours, state = excluded.state, version = excluded.version, created = excluded.created;
END;

CREATE TRIGGER sequences_named AFTER INSERT ON sequences
BEGIN
    INSERT INTO sequence_names (sequence, name, description, first_number, from_zero, last_number, max_lease, segment, require_key, period_of,
            auto_rebuild, resume_share, state, rebuild, share, was, thawed, epoch, version, created)
        SELECT sequence, name, description, first_number, from_zero, last_number, max_lease, segment, require_key, period_of,
            auto_rebuild, resume_share, state, rebuild, share, was, thawed, epoch, version, created FROM sequences WHERE sequence = NEW.sequence
        ON CONFLICT (sequence) DO UPDATE SET name = excluded.name, description = excluded.description, first_number = excluded.first_number,
            from_zero = excluded.from_zero, last_number = excluded.last_number, max_lease = excluded.max_lease, segment = excluded.segment,
            require_key = excluded.require_key, period_of = excluded.period_of, auto_rebuild = excluded.auto_rebuild,
            resume_share = excluded.resume_share, state = excluded.state, rebuild = excluded.rebuild, share = excluded.share,
            was = excluded.was, thawed = excluded.thawed, epoch = excluded.epoch, version = excluded.version, created = excluded.created;
END;

CREATE TRIGGER sequences_copied AFTER UPDATE ON sequences
BEGIN
    INSERT INTO sequence_names (sequence, name, description, first_number, from_zero, last_number, max_lease, segment, require_key, period_of,
            auto_rebuild, resume_share, state, rebuild, share, was, thawed, epoch, version, created)
        SELECT sequence, name, description, first_number, from_zero, last_number, max_lease, segment, require_key, period_of,
            auto_rebuild, resume_share, state, rebuild, share, was, thawed, epoch, version, created FROM sequences WHERE sequence = NEW.sequence
        ON CONFLICT (sequence) DO UPDATE SET name = excluded.name, description = excluded.description, first_number = excluded.first_number,
            from_zero = excluded.from_zero, last_number = excluded.last_number, max_lease = excluded.max_lease, segment = excluded.segment,
            require_key = excluded.require_key, period_of = excluded.period_of, auto_rebuild = excluded.auto_rebuild,
            resume_share = excluded.resume_share, state = excluded.state, rebuild = excluded.rebuild, share = excluded.share,
            was = excluded.was, thawed = excluded.thawed, epoch = excluded.epoch, version = excluded.version, created = excluded.created;
END;

-- More last lines of defence: a pool or sequence that was made is never removed, nor does it change its name or number.
CREATE TRIGGER pools_are_kept BEFORE DELETE ON pools
BEGIN
    SELECT RAISE(ABORT, 'a pool is never removed: its state says that it is deleted');
END;

CREATE TRIGGER sequences_are_kept BEFORE DELETE ON sequences
BEGIN
    SELECT RAISE(ABORT, 'a sequence is never removed: its state says that it is deleted');
END;

CREATE TRIGGER pool_names_are_kept BEFORE DELETE ON pool_names
BEGIN
    SELECT RAISE(ABORT, 'a name that was given is never removed');
END;

CREATE TRIGGER sequence_names_are_kept BEFORE DELETE ON sequence_names
BEGIN
    SELECT RAISE(ABORT, 'a name that was given is never removed');
END;

CREATE TRIGGER pool_names_stay BEFORE UPDATE ON pool_names
WHEN NEW.pool <> OLD.pool OR NEW.name <> OLD.name
BEGIN
    SELECT RAISE(ABORT, 'a name keeps its number');
END;

CREATE TRIGGER sequence_names_stay BEFORE UPDATE ON sequence_names
WHEN NEW.sequence <> OLD.sequence OR NEW.name <> OLD.name
BEGIN
    SELECT RAISE(ABORT, 'a name keeps its number');
END;

-- The names of what is there.
UPDATE pools SET pool = pool;
UPDATE sequences SET sequence = sequence;

-- A pool that keeps its IDs loses none, free ones included: whoever seeds it again would hand it out again.
DROP TRIGGER ids_forget_nothing_else;

CREATE TRIGGER ids_forget_nothing_else BEFORE DELETE ON ids
WHEN OLD.forget_at IS NULL AND (OLD.state <> 'free' OR (SELECT policy FROM pools WHERE pool = OLD.pool) IS NOT 'forget')
BEGIN
    SELECT RAISE(ABORT, 'the ID is not one that is forgotten');
END;

-- Which rebuild counted last, and how many IDs it found counted and gone: it says the same when it is repeated.
ALTER TABLE levels ADD COLUMN rebuilt TEXT NOT NULL DEFAULT '';
ALTER TABLE levels ADD COLUMN missing INTEGER NOT NULL DEFAULT 0 CHECK (missing >= 0);
