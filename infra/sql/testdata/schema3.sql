-- What the program of schema 3 wrote beside what schema2.sql has: a pool with a generator, its refill and samples, a job that reads a file,
-- sequences in every state, one of them a period of another, one without its counter, and more of the trail.
INSERT INTO pools (pool, name, description, policy, fold_case, max_batch, on_release, require_key, generator, low, target, low_hours, target_hours, state, version, created) VALUES (5, 'vouchers', '', 'forget', 0, 100, 'return', 0, '{"kind":"ulid"}', 2, 5, 0, 0, 'active', 2, 1800000030000000000);
INSERT INTO levels (pool, n_seeded, n_free, n_held, n_claimed, n_returning, n_retired, n_forgotten) VALUES (5, 9, 2, 1, 1, 0, 0, 5);
INSERT INTO ids (n, pool, id, state, generation, job, token, client, owner, metadata, taken, hold_until, last_token, forget_at) VALUES (201, 5, 'v-0', 'free', 1800000031, 'refill', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO ids (n, pool, id, state, generation, job, token, client, owner, metadata, taken, hold_until, last_token, forget_at) VALUES (202, 5, 'v-1', 'free', 1800000032, 'refill', NULL, NULL, NULL, NULL, NULL, NULL, 'A4Q7JEH153NIH84F0HHM5IUGU8', NULL);
INSERT INTO ids (n, pool, id, state, generation, job, token, client, owner, metadata, taken, hold_until, last_token, forget_at) VALUES (203, 5, 'v-2', 'held', 1800000031, 'refill', '77PGRC3JKIF4AK0NQ8NLMQJEG8', 'old', '', '{"order":"1"}', 1800000033000000000, 1800000633000000000, NULL, NULL);
INSERT INTO ids (n, pool, id, state, generation, job, token, client, owner, metadata, taken, hold_until, last_token, forget_at) VALUES (204, 5, 'v-3', 'claimed', 1800000031, 'refill', 'L9MQF3CM87ULSGK04FBU0G1VC4', 'old', '', NULL, 1800000034000000000, NULL, NULL, 1800086434000000000);
INSERT INTO refills (pool, version, updated, batch, ids, up_to, filling, dry, dry_since, generator) VALUES ('vouchers', 3, 1800000035000000000, 'b', '["v-4","v-5"]', 5, 1, '', NULL, '{"kind":"ulid"}');
INSERT INTO pool_samples (pool, minute, at, available, used) VALUES (5, 30000000, 1800000036000000000, 2, 7);
INSERT INTO sequences (sequence, name, description, first_number, from_zero, last_number, max_lease, segment, require_key, period_of, state, version, created) VALUES (2, 'orders', 'of the shop', 0, 1, 999999, 1000, 50, 1, '', 'paused', 2, 1800000040000000000);
INSERT INTO sequences (sequence, name, description, first_number, from_zero, last_number, max_lease, segment, require_key, period_of, state, version, created) VALUES (3, 'orders.2027', '', 1, 0, 9999, 1000, 100, 0, 'orders', 'active', 1, 1800000041000000000);
INSERT INTO sequences (sequence, name, description, first_number, from_zero, last_number, max_lease, segment, require_key, period_of, state, version, created) VALUES (4, 'stopped', '', 1, 0, 9999, 1000, 100, 0, '', 'stopped', 1, 1800000042000000000);
INSERT INTO sequences (sequence, name, description, first_number, from_zero, last_number, max_lease, segment, require_key, period_of, state, version, created) VALUES (5, 'lost', '', 1, 0, 9999, 1000, 100, 0, '', 'active', 1, 1800000043000000000);
INSERT INTO sequences (sequence, name, description, first_number, from_zero, last_number, max_lease, segment, require_key, period_of, state, version, created) VALUES (6, 'ended', '', 1, 0, 9999, 1000, 100, 0, '', 'deleted', 1, 1800000044000000000);
INSERT INTO counters (sequence, position, epoch) VALUES (2, -1, 1);
INSERT INTO counters (sequence, position, epoch) VALUES (3, 40, 1);
INSERT INTO counters (sequence, position, epoch) VALUES (4, 10, 1);
INSERT INTO counters (sequence, position, epoch) VALUES (6, 0, 1);
INSERT INTO leases (sequence, low, high, token, client, at, epoch) VALUES (3, 1, 40, 'JLRUHPEI6VN169E1BVHU2P2S04', 'old', 1800000045000000000, 1);
INSERT INTO leases (sequence, low, high, token, client, at, epoch) VALUES (4, 1, 20, 'JLRUHPEI6VN169E1BVHU2P2S04', 'old', 1800000046000000000, 1);
INSERT INTO leases (sequence, low, high, token, client, at, epoch) VALUES (5, 1, 30, 'JLRUHPEI6VN169E1BVHU2P2S04', 'old', 1800000047000000000, 1);
INSERT INTO sequence_samples (sequence, minute, at, available, used) VALUES ('orders.2027', 30000000, 1800000048000000000, 9959, 40);
INSERT INTO jobs (id, kind, pool, of_state, format, client, state, version, created, updated, done, parts, mark, tries, failure, faults, change, why, started, total, tally, log, input, inputs, input_column) VALUES ('06O8S6VK00BEAIQ59QGKI6LI8M', 'seed', 'keeps', '', '', 'old', 'running', 5, 1800000050000000000, 1800000052000000000, 2, 1, '1', 0, '', 0, 'c', 'for the sale', 1800000051000000000, 3, '{"added":2}', '[{"at":1800000051000000000,"text":"went on"}]', '{"csv":true}', '[{"digest":"d","pieces":1,"entries":3,"lines":3}]', 0);
INSERT INTO parts (part, job, k, data, ids, next, tally) VALUES (3, '06O8S6VK00BEAIQ59QGKI6LI8M', 0, x'', 0, '1', '{"added":2}');
INSERT INTO inputs (piece, job, name, data) VALUES (1, '06O8S6VK00BEAIQ59QGKI6LI8M', '0', x'610a');
INSERT INTO trail (id, at, client, action, target, detail, result, request, address) VALUES ('r2', 1800000053000000000, 'old', 'pool.seed', 'pool/keeps', 'more', 'ok', 'q', '::1');
