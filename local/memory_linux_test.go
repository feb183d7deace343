package main

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"testing"
)

// memory is the most memory that a program had, as the kernel counts it, in kB.
type memory int

var highWater = regexp.MustCompile(`(?m)^VmHWM:\s+(\d+) kB$`)

func (m *memory) look(t *testing.T, p *program) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	found := highWater.FindSubmatch(text)
	if found == nil {
		t.Fatalf("no high-water mark in %s", text)
	}
	kB, err := strconv.Atoi(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	*m = max(*m, memory(kB))
}

// check holds it against a bound that does not depend on the file: what the program has anyway, and a part or two of a file on
// their way in.
func (m *memory) check(t *testing.T) {
	t.Helper()
	if *m > 256<<10 {
		t.Errorf("the program had %s, want 256 MB at most", *m)
	}
}

func (m memory) String() string { return fmt.Sprintf("%d MB", int(m)>>10) }
