package sql

import (
	dbsql "database/sql"
	"errors"
	"fmt"
	"os"
	"reflect"
	"testing"
	"time"

	"idpool/alloc"
)

// attempt is a call that a client repeats until it has an answer.
type attempt struct {
	name  string
	setup func(s *Store) func() (answer any, err error) // what comes before it, and the call
}

// attempts are all calls that take or change something.
func attempts(t *testing.T) []attempt {
	claim := func(o alloc.ClaimOrder) func(s *Store) func() (any, error) {
		return func(s *Store) func() (any, error) {
			return func() (any, error) {
				c, err := s.Claim(t.Context(), o)
				c.Replayed = false
				return c, err
			}
		}
	}
	settling := func(e alloc.Event, o alloc.ClaimOrder) func(s *Store) func() (any, error) {
		return func(s *Store) func() (any, error) {
			c := claimed(t, s, o)
			order := alloc.SettleOrder{Pool: "p", Event: e, IDs: c.IDs, Token: c.Token}
			return func() (any, error) { return s.Settle(t.Context(), order) }
		}
	}
	batch, key := keyed(5, "k"), alloc.NewKey("c", "seed", "pool/p", "k")
	hold := keyed(3, "k")
	hold.Hold = time.Hour
	return []attempt{
		{"keyed claim", claim(keyed(1, "k"))},
		{"keyed batch", claim(batch)},
		{"keyed hold", claim(hold)},
		{"keyed lease", func(s *Store) func() (any, error) {
			return func() (any, error) {
				r, err := s.Lease(t.Context(), alloc.LeaseOrder{Sequence: "q", Count: 10, Key: alloc.NewKey("c", "lease", "sequence/q", "k")})
				r.Replayed = false
				return r, err
			}
		}},
		{"confirm", settling(alloc.EventConfirm, hold)},
		{"release of a hold", settling(alloc.EventRelease, hold)},
		{"release of a batch", settling(alloc.EventRelease, batch)},
		{"retire", settling(alloc.EventRetire, batch)},
		{"intent", func(s *Store) func() (any, error) {
			return func() (any, error) { return s.OpenKey(t.Context(), *key, "token", nil) }
		}},
		{"kept answer", func(s *Store) func() (any, error) {
			if _, err := s.OpenKey(t.Context(), *key, "token", nil); err != nil {
				t.Fatal(err)
			}
			return func() (any, error) { return s.CloseKey(t.Context(), *key, "token", []byte("answer")) }
		}},
		{"seeding", func(s *Store) func() (any, error) {
			return func() (any, error) {
				return s.Seed(t.Context(), alloc.SeedBatch{Pool: "p", Job: "j", IDs: []alloc.ID{"new", "id-00001"}})
			}
		}},
		{"seeding up to a level", func(s *Store) func() (any, error) {
			return func() (any, error) {
				return s.Seed(t.Context(), alloc.SeedBatch{Pool: "p", Job: "j", IDs: []alloc.ID{"id-00001", "a", "b", "c"}, UpTo: 12})
			}
		}},
		{"refill", func(s *Store) func() (any, error) {
			return func() (any, error) {
				return s.ChangeRefill(t.Context(), 0, alloc.Refill{Pool: "p", Batch: "b", IDs: []alloc.ID{"a", "b"}, UpTo: 12})
			}
		}},
		{"refill that goes on", func(s *Store) func() (any, error) {
			if _, err := s.ChangeRefill(t.Context(), 0, alloc.Refill{Pool: "p", Batch: "b", IDs: []alloc.ID{"a", "b"}, UpTo: 12}); err != nil {
				t.Fatal(err)
			}
			return func() (any, error) { return s.ChangeRefill(t.Context(), 1, alloc.Refill{Pool: "p", Dry: "no more"}) }
		}},
		{"piece of input", func(s *Store) func() (any, error) {
			running(t, s, "j")
			return func() (any, error) { return nil, s.PutInput(t.Context(), "j", "0", []byte("1,a")) }
		}},
		{"part", func(s *Store) func() (any, error) {
			running(t, s, "j")
			return func() (any, error) {
				return nil, s.PutPart(t.Context(), "j", 0, alloc.Part{Tally: alloc.Tally{Added: 1}})
			}
		}},
		{"step of a job", func(s *Store) func() (any, error) {
			j := running(t, s, "j")
			j.Tally.Added, j.Log = 7, []alloc.JobEvent{{At: j.Created, Text: "went on"}}
			return func() (any, error) { return s.ChangeJob(t.Context(), 1, j) }
		}},
		{"sample of a sequence", func(s *Store) func() (any, error) {
			return func() (any, error) {
				return nil, s.SampleSequence(t.Context(), "q", alloc.Sample{At: time.Unix(60, 0), Used: 1})
			}
		}},
		{"sweep", func(s *Store) func() (any, error) {
			c := claimed(t, s, batch)
			settle(t, s, alloc.EventRelease, "p", c.Token, c.IDs...)
			return func() (any, error) {
				_, err := s.Sweep(t.Context(), "p")
				return nil, err
			}
		}},
	}
}

// running makes a job that seeds.
func running(t *testing.T, s *Store, id alloc.JobID) alloc.Job {
	t.Helper()
	now := time.Now().UTC().Truncate(time.Second)
	j := alloc.Job{ID: id, Kind: alloc.JobSeed, Pool: "p", By: "test", State: alloc.JobRunning, Created: now, Updated: now}
	if err := s.CreateJob(t.Context(), j); err != nil {
		t.Fatal(err)
	}
	return j
}

// A fault at every single statement of a call, in both forms: the error says truly whether something may have been done,
// and the client's repeat ends in one answer, with nothing taken twice and nothing lost.
func TestFaultAtEveryStatement(t *testing.T) {
	t.Parallel()
	template := newFile(t)
	s, err := OpenSQLite(t.Context(), Config{Path: template})
	if err != nil {
		t.Fatal(err)
	}
	filled(t, s, "p", 10)
	_, _, err = s.CreateSequence(t.Context(), "q", alloc.SequenceConfig{}.WithDefaults())
	if err := errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(template)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range append(attempts(t), rebuildAttempts(t)...) {
		for _, in := range []form{refusedForm, appliedForm} {
			t.Run(a.name+", "+string(in), func(t *testing.T) {
				t.Parallel() // it waits for the disk
				faults, unsure := 0, 0
				for {
					hit, unknown := faultAt(t, a, content, in, faults+1)
					if !hit {
						break
					}
					faults++
					if unknown {
						unsure++
					}
				}
				if unsure != 1 || faults < 5 { // BEGIN, SAVEPOINT, something, RELEASE, and COMMIT, of which nobody can know
					t.Errorf("got %d faults, of which %d had an unknown outcome; want at least 5, and 1", faults, unsure)
				}
			})
		}
	}
}

// faultAt makes the call with a fault at its n-th statement, and repeats it; hit is false if it has fewer.
func faultAt(t *testing.T, a attempt, content []byte, in form, n int) (hit, unknown bool) {
	t.Helper()
	path := newFile(t)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	s := openAt(t, Config{Path: path})
	f := withFaults(t, s, path)
	call := a.setup(s)
	before := contents(t, path)
	f.arm(n, in)
	failed, err := call()
	if !f.disarm() {
		if err != nil {
			t.Errorf("without a fault: %v", err)
		}
		return false, false
	}
	e, _ := errors.AsType[*alloc.Error](err)
	if e == nil {
		t.Fatalf("statement %d: got %+v and %v, want an error of the domain", n, failed, err)
	}
	if now := contents(t, path); !e.Unknown && now != before {
		t.Errorf("statement %d: got %v with a known outcome, but it changed\n%s\nto\n%s", n, err, before, now)
	}
	answer, err := call()
	if err != nil {
		t.Fatalf("statement %d, repeated: %v", n, err)
	}
	after := contents(t, path)
	again, err := call()
	if err != nil || !reflect.DeepEqual(again, answer) || contents(t, path) != after {
		t.Errorf("statement %d, repeated twice: got %+v and %v, want %+v and nothing more changed", n, again, err, answer)
	}
	if c, ok := answer.(alloc.Claim); ok {
		taken := census(t, path, "p")[c.State]
		owned := ask[int](t, path, `SELECT count(*) FROM ids WHERE token = $1`, c.Token)
		if int(taken) != len(c.IDs) || owned != len(c.IDs) {
			t.Errorf("statement %d: got %d IDs taken, %d by the answer's token, want %d", n, taken, owned, len(c.IDs))
		}
	}
	wantCounts(t, s, path, "p")
	return true, e.Unknown
}

// contents is what the tables hold of IDs, numbers and answers.
func contents(t *testing.T, path string) (all string) {
	t.Helper()
	queries := []string{
		`SELECT group_concat(id || state || generation || coalesce(token, '') || n, ' ') FROM (SELECT * FROM ids ORDER BY id)`,
		`SELECT group_concat(hash || token) FROM claim_keys`,
		`SELECT group_concat(low || '-' || high || token) FROM leases`,
		`SELECT group_concat(hash || token || done || shared || CAST(answer AS TEXT)) FROM kept_keys`,
		`SELECT group_concat(pool || version || batch || ids || dry) FROM refills`,
		`SELECT group_concat(id || version || tally || log) FROM jobs`,
		`SELECT group_concat(job || k || tally) FROM parts`,
		`SELECT group_concat(job || name || CAST(data AS TEXT)) FROM inputs`,
		`SELECT group_concat(sequence || minute || at || used) FROM sequence_samples`,
		`SELECT group_concat(s.sequence || state || rebuild || share || was || thawed || s.epoch || c.position || c.epoch) FROM sequences s JOIN counters c ON c.sequence = s.sequence`,
		`SELECT group_concat(sequence || high || epoch) FROM marks`,
		`SELECT group_concat(sequence || version || record) FROM rebuilds`,
		`SELECT group_concat(id || hash, ' ') FROM (SELECT * FROM trail ORDER BY id)`,
		`SELECT group_concat(month || last || hash) FROM months`,
		`SELECT group_concat(id || record) FROM intents`,
	}
	byHand(t, path, func(db *dbsql.DB) error {
		for _, query := range queries {
			var rows string
			if err := db.QueryRowContext(t.Context(), `SELECT coalesce((`+query+`), '')`).Scan(&rows); err != nil {
				return err
			}
			all += fmt.Sprintln(rows)
		}
		return nil
	})
	return all
}
