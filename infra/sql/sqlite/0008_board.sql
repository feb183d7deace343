-- How everything stood at the end of the last run of the schedule, in one row.
CREATE TABLE board (
    one  INTEGER NOT NULL PRIMARY KEY CHECK (one = 1),
    at   INTEGER NOT NULL,
    data BLOB    NOT NULL
) STRICT;
