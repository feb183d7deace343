-- What the program of schema 2 wrote beside what schema1.sql has: a pool whose releases retire, held and returning IDs, and jobs.
INSERT INTO pools (pool, name, description, policy, fold_case, max_batch, on_release, require_key, state, version, created) VALUES (4, 'licences', '', 'keep', 0, 100, 'retire', 1, 'active', 3, 1800000020000000000);
INSERT INTO levels (pool, n_seeded, n_free, n_held, n_claimed, n_returning, n_retired, n_forgotten) VALUES (4, 3, 0, 1, 0, 1, 1, 0);
INSERT INTO ids (n, pool, id, state, generation, job, token, client, owner, metadata, taken, hold_until) VALUES (101, 4, 'l-0', 'held', 0, 'first', 'A4Q7JEH153NIH84F0HHM5IUGU8', 'old', '', NULL, 1800000021000000000, 1800000081000000000);
INSERT INTO ids (n, pool, id, state, generation, job, token, client, owner, metadata, taken) VALUES (102, 4, 'l-1', 'returning', 0, 'first', 'A4Q7JEH153NIH84F0HHM5IUGU8', 'old', '', NULL, 1800000021000000000);
INSERT INTO ids (n, pool, id, state, generation, job, token, client, owner, metadata, taken) VALUES (103, 4, 'l-2', 'retired', 0, 'first', 'A4Q7JEH153NIH84F0HHM5IUGU8', 'old', '', NULL, 1800000021000000000);
INSERT INTO jobs (id, kind, pool, of_state, format, client, state, version, created, updated, done, parts, mark, tries, failure) VALUES ('06O8S6VK00BEAIQ59QGKI6LI8K', 'export', 'keeps', '', 'csv', 'old', 'done', 3, 1800000022000000000, 1800000024000000000, 8, 1, '', 0, '');
INSERT INTO jobs (id, kind, pool, of_state, format, client, state, version, created, updated, done, parts, mark, tries, failure) VALUES ('06O8S6VK00BEAIQ59QGKI6LI8L', 'export', 'keeps', 'free', 'json', 'old', 'running', 2, 1800000025000000000, 1800000026000000000, 1, 1, 'keeps-5', 1, '');
INSERT INTO parts (part, job, k, data, ids, next) VALUES (1, '06O8S6VK00BEAIQ59QGKI6LI8K', 0, x'69640a', 8, '');
INSERT INTO parts (part, job, k, data, ids, next) VALUES (2, '06O8S6VK00BEAIQ59QGKI6LI8L', 0, x'7b7d0a', 1, 'keeps-5');
