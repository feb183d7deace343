package alloctest

import (
	"flag"
	"slices"
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
	for _, mu := range allMutants() {
		t.Run(mu.name, func(t *testing.T) {
			for _, begin := range mu.caught {
				c := findCase(t, begin)
				failures := verdict(t, func(tb testing.TB) { c.check(tb, mu.fixture()) })
				if len(failures) == 0 {
					t.Errorf("the case %q passed, want it to fail", begin)
					continue
				}
				t.Logf("%s: %s", begin, failures[0])
			}
		})
	}
}

// TestRunModelCatches shows that random operations notice faults as well, those that one caller at a time can meet.
func TestRunModelCatches(t *testing.T) {
	setFlag(t, "rapid.nofailfile", "true") // it is meant to fail
	setFlag(t, "rapid.shrinktime", "0s")
	setFlag(t, "rapid.checks", "2000")
	setFlag(t, "rapid.seed", "5") // so that it always finds what it finds
	for _, name := range []string{
		"a claimed ID is free again after a sweep",
		"a pool of one free ID is called exhausted",
		"a batch is filled as far as it goes",
		"keys are remembered in the process only",
		"the fingerprint of a key is not compared",
		"a key is answered for ever",
		"a repeat gives the IDs in another order",
		"a refusal is stored under its key",
		"seeding resets what is claimed",
		"a repeated job finds its own IDs to be duplicates",
		"the level counts what is claimed as free",
		"a pool that forgets keeps",
		"a change is not tested against the version",
		"a lost counter begins again",
		"the ledger is not looked at",
		"a stopped sequence goes on when its counter is right again",
		"the last lease is cut to what is left",
		"keys of leases are ignored",
		"a change moves the position to the start",
		"a hold never ends",
		"a hold is answered as a claim",
		"a confirmation past the hold's time is refused",
		"the token is not looked at",
		"a batch is settled as far as it goes",
		"a released ID is free at once",
		"a released ID never comes back",
		"a release is no longer known when the ID is back",
		"a release of what somebody else has by now takes it from him",
		"a retired ID comes back",
		"a release retires nowhere",
		"a release of what comes back is answered as a retirement beside others",
		"a release is unknown where releases retire by now",
		"a repeat does not tell what has ended",
		"a key that has ended claims anew at once",
		"a state is set from whatever version",
		"the last answer to a key stays",
		"a quota gives all or nothing",
		"the level of a batch is not looked at",
		"a pool is filled to one more than its level",
		"IDs are added in the order of their names",
		"unneeded IDs are put all the same",
		"an unneeded ID is reserved for its batch",
		"a repeat of a batch is answered as before",
		"what was ever seeded counts for the level",
		"what is held counts for the level",
		"what is there is unneeded where the level is reached",
		"a batch up to a level stops at an ID that is there",
		"the level of a refill stays the pool's",
		"a draining pool is filled up",
		"a refill is changed from whatever version",
		"a repeat of a refill's change is a mismatch",
		"what a refill's change leaves out stays",
		"a refill is always dry since its change",
		"a counter behind its leases is not noticed",
		"the mark is lowered to the counter",
		"a frozen sequence is leased from",
		"everybody is served while a sequence resumes",
		"a counter is put wherever the plan says",
		"a rebuild of a pool frees what is claimed",
		"a rebuild of a pool lists nothing",
	} {
		t.Run(name, func(t *testing.T) {
			i := slices.IndexFunc(allMutants(), func(mu mutant) bool { return mu.name == name })
			if i < 0 {
				t.Fatalf("there is no mutant %q", name)
			}
			failures := verdict(t, func(tb testing.TB) { runModel(tb, allMutants()[i].fixture()) })
			if len(failures) == 0 {
				t.Error("RunModel passed, want it to fail")
			}
		})
	}
}

func setFlag(t *testing.T, name, value string) {
	t.Helper()
	before := flag.Lookup(name).Value.String()
	if err := flag.Set(name, value); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := flag.Set(name, before); err != nil {
			t.Error(err)
		}
	})
}

func allMutants() []mutant {
	return slices.Concat(poolMutants, claimMutants, sequenceMutants, deletedMutants, settleMutants, keyMutants, jobMutants, secondMutants, upToMutants,
		refillMutants, sampleMutants, inputMutants, failedMutants, rebuildMutants, restoreMutants, sessionMutants)
}

// fixture is an empty engine with the fault.
func (mu mutant) fixture() Fixture {
	m := NewModel(nil)
	f := m.Fixture()
	f.Open = func(_ testing.TB, now func() time.Time) alloc.Store { return mu.open(m.Open(now)) }
	return f
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
	case <-time.After(60 * time.Millisecond):
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
