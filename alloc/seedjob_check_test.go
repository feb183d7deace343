package alloc_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
)

// A check of a file says what its seeding then does, and adds nothing.
func TestACheckSaysWhatASeedingDoes(t *testing.T) {
	m := newMill(t, alloc.PoolConfig{}, "A1", "A2", "A3")
	if _, err := m.model.Claim(t.Context(), alloc.ClaimOrder{Pool: pool, Count: 1, By: "c"}); err != nil {
		t.Fatal(err)
	}
	var file strings.Builder
	file.WriteString("A1\nA2\nA3\nbad \x01 one\n")
	for n := range 2500 {
		fmt.Fprintf(&file, "N%d\n", n)
	}
	file.WriteString("N0\nN1\nA1\n") // far behind the first, in another piece
	j := m.file(t, alloc.SeedFormat{}, file.String())
	check, err := m.CheckSeeding(m.ctx, j.ID, "07PVVP48O0I9JMFEUNJ0E7T0P7")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := m.CheckSeeding(m.ctx, j.ID, "07PVVP48O0I9JMFEUNJ0E7T0P7"); err != nil || again.ID != check.ID {
		t.Errorf("a repeat makes %s, %v", again.ID, err)
	}
	m.deliver(t)
	check = m.now(t, check.ID)
	if check.State != alloc.JobDone || check.Done != 2507 || check.Total != 2507 {
		t.Fatalf("the check: %+v", check)
	}
	if l, err := m.model.Level(t.Context(), pool); err != nil || l.Available != 2 {
		t.Errorf("after the check the pool has %d, %v", l.Available, err)
	}
	m.start(t, j)
	m.deliver(t)
	seeded := m.now(t, j.ID)
	if diff := cmp.Diff(seeded.Tally, check.Tally); diff != "" || seeded.Tally.Added != 2500 || seeded.Tally.Duplicate != 5 || seeded.Tally.Conflict != 1 || seeded.Tally.Invalid != 1 {
		t.Errorf("what was said and what was done (-done +said):\n%s", diff)
	}
	if diff := cmp.Diff(m.rejects(t, seeded.ID), m.rejects(t, check.ID)); diff != "" {
		t.Errorf("the files (-done +said):\n%s", diff)
	}
}

func TestWhatIsNotChecked(t *testing.T) {
	m := newMill(t, alloc.PoolConfig{}, "A1")
	empty := m.file(t, alloc.SeedFormat{}, "\n")
	_, err := m.CheckSeeding(m.ctx, empty.ID, "")
	wantCode(t, err, alloc.CodeInvalidRequest)
	started := m.file(t, alloc.SeedFormat{}, "A2\n")
	m.start(t, started)
	_, err = m.CheckSeeding(m.ctx, started.ID, "")
	wantCode(t, err, alloc.CodeInvalidRequest)
	trail, err := m.Audit(m.ctx, alloc.AuditRequest{}) // it is of no pool
	if err == nil {
		_, err = m.CheckSeeding(m.ctx, trail.ID, "")
	}
	wantCode(t, err, alloc.CodeInvalidRequest)
	export, err := m.Export(m.ctx, alloc.ExportRequest{Pool: pool, Format: "csv"})
	if err == nil {
		_, err = m.CheckSeeding(m.ctx, export.ID, "")
	}
	wantCode(t, err, alloc.CodeInvalidRequest)
}
