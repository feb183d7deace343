-- What somebody has now, by when it was taken: so that what was taken last is found whatever the pool's size.
CREATE INDEX ids_taken ON ids (pool, taken) WHERE state IN ('held', 'claimed');
