package sql

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"idpool/alloc"
)

// broken walks the whole trail as an audit does, and returns what does not follow from what is before it.
func broken(t testing.TB, s *Store) (faults []string) {
	t.Helper()
	months, err := s.Months(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	hash := ""
	for _, m := range months {
		records, err := s.Chain(t.Context(), m.Month, 0, 1000)
		if err != nil {
			t.Fatal(err)
		}
		next := int64(1)
		for _, r := range records {
			for ; next < r.Position; next++ {
				faults = append(faults, fmt.Sprintf("%s/%d is missing", m.Month, next))
			}
			if !r.Intact() {
				faults = append(faults, fmt.Sprintf("%s/%d was changed", m.Month, r.Position))
			}
			if r.Previous != hash {
				faults = append(faults, fmt.Sprintf("%s/%d does not follow", m.Month, r.Position))
			}
			hash, next = r.Hash, r.Position+1
		}
		if next != m.Last+1 || hash != m.Hash {
			faults = append(faults, m.Month+" does not end there")
		}
	}
	return faults
}

func trailOf(t testing.TB, n int) (s *Store, path string, record func(n int)) {
	t.Helper()
	now := time.Date(2027, 1, 31, 23, 0, 0, 0, time.UTC)
	path = newFile(t)
	s = openAt(t, Config{Path: path, Now: func() time.Time { return now }})
	record = func(n int) {
		t.Helper()
		if n == 3 {
			now = now.Add(2 * time.Hour) // the fourth is of the next month
		}
		r := alloc.AuditRecord{ID: fmt.Sprint("r", n), At: now, Client: "c", Action: "a", Target: "t", Detail: "was so", Result: "ok"}
		if err := s.Record(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		record(i)
	}
	return s, path, record
}

// Whatever is done to the trail by hand, past its triggers, shows, and what is appended after it hides nothing.
func TestHarmToTheTrailShows(t *testing.T) {
	for name, harm := range map[string]struct{ table, query string }{
		"a record is changed":                     {"trail", `UPDATE trail SET detail = 'was never so' WHERE id = 'r1'`},
		"who did it is changed":                   {"trail", `UPDATE trail SET client = 'somebody else' WHERE id = 'r4'`},
		"a record is removed":                     {"trail", `DELETE FROM trail WHERE id = 'r1'`},
		"the first of a month is removed":         {"trail", `DELETE FROM trail WHERE id = 'r3'`},
		"the last of a month is removed":          {"trail", `DELETE FROM trail WHERE id = 'r2'`},
		"the last of all is removed":              {"trail", `DELETE FROM trail WHERE id = 'r5'`},
		"a whole month is removed":                {"trail", `DELETE FROM trail WHERE month = '2027-02'`},
		"two records change places":               {"trail", `UPDATE trail SET position = CASE position WHEN 1 THEN 200 ELSE 1 END WHERE month = '2027-01' AND position IN (1, 2)`},
		"a record is put in":                      {"trail", `INSERT INTO trail (id, at, client, action, target, detail, result, request, address, month, position, previous, hash) VALUES ('x', 1, '', '', '', '', '', '', '', '2027-01', 4, '', 'h')`},
		"the end of the last month is set back":   {"months", `UPDATE months SET last = 1 WHERE month = '2027-02'`},
		"the end of an earlier month is set back": {"months", `UPDATE months SET last = 2 WHERE month = '2027-01'`},
	} {
		t.Run(name, func(t *testing.T) {
			s, path, record := trailOf(t, 6)
			if got := broken(t, s); got != nil {
				t.Fatalf("before: %q", got)
			}
			past(t, path, harm.table, harm.query)
			if broken(t, s) == nil {
				t.Error("it does not show")
			}
			record(6)
			record(7)
			after := broken(t, s)
			if harm.query == `UPDATE months SET last = 1 WHERE month = '2027-02'` {
				if after != nil { // the records are whole: the end is kept anew
					t.Errorf("after more records: %q, want none: no record is missing or changed", after)
				}
				return
			}
			if after == nil {
				t.Error("it does not show any more, after more records")
			}
		})
	}
}

// A record whose place is gone is not put into it: the next one stands where it would have stood.
func TestNothingIsPutIntoTheGapOfTheTrail(t *testing.T) {
	s, path, record := trailOf(t, 6)
	past(t, path, "trail", `DELETE FROM trail WHERE id = 'r5'`)
	record(6)
	chain, err := s.Chain(t.Context(), "2027-02", 2, 10)
	if err != nil || len(chain) != 1 || chain[0].Position != 4 {
		t.Errorf("got %+v and %v, want the next at 4: 3 is missing and stays so", chain, err)
	}
}

// Many Stores over one file record at the same time, the same records too: one chain, and each once.
func TestStoresShareOneChain(t *testing.T) {
	path := newFile(t)
	const stores, records = 4, 25
	var recorders sync.WaitGroup
	for range stores {
		s := openAt(t, Config{Path: path})
		recorders.Go(func() {
			for n := range records {
				r := alloc.AuditRecord{ID: fmt.Sprint("r", n), At: time.Unix(1, 0), Result: "ok"}
				if err := s.Record(t.Context(), r); err != nil {
					t.Errorf("record: %v", err)
				}
			}
		})
	}
	recorders.Wait()
	s := openAt(t, Config{Path: path})
	if got := broken(t, s); got != nil {
		t.Errorf("got %q, want an unbroken chain", got)
	}
	if n := ask[int](t, path, `SELECT count(*) FROM trail`); n != records {
		t.Errorf("got %d records, want %d", n, records)
	}
}
