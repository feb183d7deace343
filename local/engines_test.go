package main

import "testing"

// engine is a store with its data, which outlives the programs that a test starts on it.
type engine interface {
	flags() []string  // with which the program uses it
	crash(testing.TB) // it is killed and started again; nothing where it is part of the program
}

// sqlite is part of the program; its data is in a folder.
type sqlite struct{ dir string }

func newSQLite(t testing.TB) engine { return sqlite{t.TempDir()} }

func (s sqlite) flags() []string { return []string{"-data", s.dir} }

func (s sqlite) crash(testing.TB) {}

// onEachEngine runs the test on every store that this build has, on all at once: they wait for the disk, mostly.
func onEachEngine(t *testing.T, test func(*testing.T, engine)) {
	for name, open := range engines() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}
