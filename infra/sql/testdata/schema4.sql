-- What the program of schema 4 wrote beside what schema3.sql has: a sequence that is resuming after a rebuild, with its mark, and one that is
-- frozen, a carried lease and a carried ID, a record in the chain of a month, and counts of a pool from which an ID was taken by hand.
INSERT INTO pools (pool, name, description, policy, fold_case, max_batch, on_release, require_key, state, version, created) VALUES (6, 'short', '', 'keep', 1, 100, 'return', 0, 'draining', 4, 1800000060000000000);
INSERT INTO levels (pool, n_seeded, n_free, n_held, n_claimed, n_returning, n_retired, n_forgotten) VALUES (6, 3, 2, 0, 1, 0, 0, 0);
INSERT INTO ids (n, pool, id, state, generation, job, token, client, owner, metadata, taken, carried) VALUES (301, 6, 's-0', 'claimed', 1, 'first', 'A4Q7JEH153NIH84F0HHM5IUGU8', 'old', '', NULL, 1800000061000000000, 1);
INSERT INTO ids (n, pool, id, state, generation, job, token, client, owner, metadata, taken) VALUES (302, 6, 's-1', 'free', 0, 'first', NULL, NULL, NULL, NULL, NULL);
INSERT INTO sequences (sequence, name, description, first_number, from_zero, last_number, max_lease, segment, require_key, period_of, auto_rebuild, resume_share, state, version, created, rebuild, share, was, thawed, epoch) VALUES (7, 'resuming', 'r', 1, 0, 9999, 1000, 100, 0, '', 1, 20, 'active', 2, 1800000062000000000, 'job', 20, '', '', 2);
INSERT INTO counters (sequence, position, epoch) VALUES (7, 1100, 2);
INSERT INTO leases (sequence, low, high, token, client, at, epoch, proven, carried) VALUES (7, 1, 90, 'JLRUHPEI6VN169E1BVHU2P2S04', 'old', 1800000063000000000, 1, 0, 1);
INSERT INTO marks (sequence, high, epoch, at) VALUES (7, 1000, 2, 1800000064000000000);
INSERT INTO sequences (sequence, name, description, first_number, from_zero, last_number, max_lease, segment, require_key, period_of, auto_rebuild, resume_share, state, version, created, rebuild, share, was, thawed, epoch) VALUES (8, 'frozen', '', 1, 0, 9999, 1000, 100, 0, '', 0, 10, 'active', 1, 1800000065000000000, 'other', 0, 'paused', 'before', 3);
INSERT INTO counters (sequence, position, epoch) VALUES (8, 70, 3);
INSERT INTO trail (id, at, client, action, target, detail, result, request, address, month, position, hash) VALUES ('r4', 1800000066000000000, 'old', 'pool.drain', 'pool/short', '', 'ok', '', '', '2027-01', 1, 'h');
INSERT INTO months (month, last, hash) VALUES ('2027-01', 1, 'h');
