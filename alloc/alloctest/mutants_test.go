package alloctest

import (
	"strings"
	"testing"
	"time"

	"idpool/alloc"
)

// mutant is a Store with one fault, and the cases of the suite that must catch it, by the beginnings of their names.
type mutant struct {
	name   string
	caught []string
	open   func(m *Model) alloc.Store // makes a process of the faulty engine
}

// TestEveryMutantIsCaught shows that the cases can fail: each fault that users of other allocators have met is put into
// the Model, and the case that is there for it must notice.
func TestEveryMutantIsCaught(t *testing.T) {
	for _, mu := range append(append(poolMutants, claimMutants...), sequenceMutants...) {
		t.Run(mu.name, func(t *testing.T) {
			for _, begin := range mu.caught {
				m := NewModel(nil)
				f := m.Fixture()
				f.Open = func(_ testing.TB, now func() time.Time) alloc.Store { return mu.open(m.Open(now)) }
				failures := verdict(t, findCase(t, begin), f)
				if len(failures) == 0 {
					t.Errorf("the case %q passed, want it to fail", begin)
					continue
				}
				t.Logf("%s: %s", begin, failures[0])
			}
		})
	}
}

// TestNamesOfCasesAreUnique lets mutants name their cases.
func TestNamesOfCasesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for _, a := range suite() {
		for _, c := range a.cases {
			if seen[c.name] {
				t.Errorf("two cases are called %q", c.name)
			}
			seen[c.name] = true
		}
	}
}

// TestLookAlikesAreWhatAStoreMayBeGiven holds the suite itself to the contract.
func TestLookAlikesAreWhatAStoreMayBeGiven(t *testing.T) {
	seen := map[alloc.ID]bool{}
	for _, id := range lookAlikes {
		if err := alloc.CheckID(string(id)); err != nil || seen[id] {
			t.Errorf("the ID %q: got %v and twice: %v, want it valid and once", id, err, seen[id])
		}
		seen[id] = true
	}
}

// meeting is where two callers meet between reading and writing.
var meeting = make(chan struct{})

// meetAnother waits until another caller is at the same place, so that a race happens whenever it can: a caller who is
// alone goes on after a moment.
func meetAnother() {
	select {
	case meeting <- struct{}{}:
	case <-meeting:
	case <-time.After(20 * time.Millisecond):
	}
}

func findCase(t *testing.T, begin string) testCase {
	t.Helper()
	var found []testCase
	for _, a := range suite() {
		for _, c := range a.cases {
			if strings.HasPrefix(c.name, begin) {
				found = append(found, c)
			}
		}
	}
	if len(found) != 1 {
		t.Fatalf("cases that begin with %q: got %d, want 1", begin, len(found))
	}
	return found[0]
}
