package sql

import (
	dbsql "database/sql"
	"testing"

	"idpool/alloc"
)

// The exceptions of the triggers are as narrow as what a restore and a rebuild need: each row is what somebody might do by hand
// or by mistake, in a transaction that is rolled back.
func TestSchemaKeepsItsExceptionsNarrow(t *testing.T) {
	s, path := storeOn(t)
	filled(t, s, "p", 1)
	if _, _, err := s.CreateSequence(t.Context(), "q", alloc.SequenceConfig{}.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	edit(t, path, `INSERT INTO ids (pool, id, state, generation, job, token, hold_until) VALUES
		(1, 'held', 'held', 1, 'j', 't', 1), (1, 'claimed', 'claimed', 1, 'j', 't', NULL), (1, 'returning', 'returning', 1, 'j', 't', NULL), (1, 'retired', 'retired', 1, 'j', 't', NULL)`)
	edit(t, path, `INSERT INTO leases VALUES (1, 10, 19, 'one', 'c', 0, 1, 1, 0, NULL), (1, 30, 39, '', 'c', 0, 1, 1, 1, NULL)`)
	edit(t, path, `INSERT INTO marks VALUES (1, 50, 2, 0)`)
	edit(t, path, `INSERT INTO months VALUES ('2027-01', 5, 'h')`)
	wantAllowed(t, path, map[string]bool{
		// What a carry may do with an ID, and only as one.
		`UPDATE ids SET carried = carried + 1, state = 'retired', token = '' WHERE id = 'id-00000'`:                 true,
		`UPDATE ids SET carried = carried + 1, state = 'claimed', generation = 3, token = 'u' WHERE id = 'retired'`: false, // for good
		`UPDATE ids SET carried = carried + 1, state = 'retired' WHERE id = 'returning'`:                            true,
		`UPDATE ids SET carried = carried + 1, state = 'returning', hold_until = NULL WHERE id = 'held'`:            true,
		`UPDATE ids SET state = 'retired' WHERE id = 'returning'`:                                                   false, // it is none
		`UPDATE ids SET state = 'claimed', generation = 3, token = 'u' WHERE id = 'retired'`:                        false,
		`UPDATE ids SET carried = carried + 1, state = 'claimed', token = 'u' WHERE id = 'held'`:                    false, // away from its holder
		`UPDATE ids SET carried = carried + 1, state = 'retired', token = 'u' WHERE id = 'claimed'`:                 false,
		`UPDATE ids SET carried = carried + 1, state = 'retired', token = '' WHERE id = 'returning'`:                true, // it is nobody's
		`UPDATE ids SET carried = carried + 1, token = 'u' WHERE id = 'claimed'`:                                    false,
		`UPDATE ids SET carried = carried + 1, state = 'claimed' WHERE id = 'retired'`:                              false, // back
		`UPDATE ids SET carried = carried + 1, state = 'claimed', generation = 0 WHERE id = 'returning'`:            false,
		`UPDATE ids SET carried = carried + 1, state = 'free', generation = 2 WHERE id = 'claimed'`:                 false, // never free
		`UPDATE ids SET carried = carried + 1, state = 'free', generation = 2 WHERE id = 'returning'`:               false,
		`UPDATE ids SET carried = carried + 2, state = 'retired', token = '' WHERE id = 'id-00000'`:                 false,
		`UPDATE ids SET carried = carried - 1 WHERE id = 'claimed'`:                                                 false,
		`UPDATE ids SET token = 'u' WHERE id = 'claimed'`:                                                           false,
		`UPDATE ids SET generation = 7 WHERE id = 'id-00000'`:                                                       false,

		// A lease that is carried may overlap; no other may, nor overlap one that was carried.
		`INSERT INTO leases VALUES (1, 15, 25, 'x', 'c', 0, 1, 1, 1, NULL)`: true,
		`INSERT INTO leases VALUES (1, 15, 25, 'x', 'c', 0, 1, 0, 1, NULL)`: true,
		`INSERT INTO leases VALUES (1, 15, 25, 'x', 'c', 0, 1, 1, 0, NULL)`: false,
		`INSERT INTO leases VALUES (1, 35, 45, 'x', 'c', 0, 1, 1, 0, NULL)`: false,
		`INSERT INTO leases VALUES (1, 25, 30, 'x', 'c', 0, 1, 1, 0, NULL)`: false,
		`INSERT INTO leases VALUES (1, 20, 29, 'x', 'c', 0, 1, 1, 0, NULL)`: true,
		`INSERT INTO leases VALUES (1, 20, 29, 'x', 'c', 0, 1, 0, 0, NULL)`: false, // unproven, and not carried
		`UPDATE leases SET high = 25, carried = 1 WHERE low = 10`:           true,
		`UPDATE leases SET high = 25 WHERE low = 10`:                        false,
		`UPDATE leases SET high = 15, carried = 1 WHERE low = 10`:           false,
		`UPDATE leases SET token = 'x', carried = 1 WHERE low = 10`:         false,
		`UPDATE leases SET token = 'x', carried = 1 WHERE low = 30`:         true, // it has none
		`UPDATE leases SET low = 5, high = 25, carried = 1 WHERE low = 10`:  false,
		`UPDATE leases SET epoch = 9 WHERE low = 10`:                        false,
		`INSERT INTO leases VALUES (1, 60, 50, 'x', 'c', 0, 1, 1, 1, NULL)`: false,

		// Marks and the ends of months only rise.
		`UPDATE marks SET high = 51`:                                            true,
		`UPDATE marks SET high = 49`:                                            false,
		`UPDATE marks SET high = 51, epoch = 1`:                                 false,
		`UPDATE months SET last = 6, hash = 'i'`:                                true,
		`UPDATE months SET last = 4`:                                            false,
		`UPDATE months SET hash = 'i'`:                                          false,
		`UPDATE months SET month = '2027-02', last = 6`:                         false,
		`DELETE FROM months`:                                                    false,
		`UPDATE sequences SET rebuild = 'r', was = 'active'`:                    true,
		`UPDATE sequences SET rebuild = 'r', share = 10`:                        true,
		`UPDATE sequences SET rebuild = 'r'`:                                    false, // neither frozen nor resuming
		`UPDATE sequences SET share = 10`:                                       false,
		`UPDATE sequences SET was = 'active'`:                                   false,
		`UPDATE sequences SET rebuild = 'r', share = 100`:                       false,
		`UPDATE sequences SET rebuild = 'r', share = 10, state = 'paused'`:      false,
		`UPDATE sequences SET rebuild = 'r', was = 'active', state = 'deleted'`: false,
	})
}

// wantAllowed makes each change by hand, in a transaction that is rolled back, and holds against it whether it is allowed.
func wantAllowed(t *testing.T, path string, changes map[string]bool) {
	t.Helper()
	for query, want := range changes {
		byHand(t, path, func(db *dbsql.DB) error {
			tx, err := db.BeginTx(t.Context(), nil)
			if err != nil {
				return err
			}
			if _, err := tx.ExecContext(t.Context(), query); (err == nil) != want {
				t.Errorf("%s: got %v, want allowed: %v", query, err, want)
			}
			return tx.Rollback()
		})
	}
}
