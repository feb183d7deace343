package api

import (
	"fmt"
	"strings"
	"testing"

	"idpool/alloc"
)

// The answer of a run over ever so many pools is kept under a key like any other.
func TestALongRunIsKept(t *testing.T) {
	name := func(i int) alloc.PoolName {
		return alloc.PoolName(fmt.Sprintf("%05d%s", i, strings.Repeat("n", alloc.MaxNameBytes-5)))
	}
	why := partialError{"sequence_exhausted", strings.Repeat("w", 300)}
	var a tendAnswer
	for i := range 20_000 {
		a.Swept = append(a.Swept, sweepAnswer{Pool: name(i), Passed: 1e6, Relisted: 1e6, Returned: 1e6, Voided: 1e6, Calls: 1e6, Writes: 1e6})
		a.Failed = append(a.Failed, failedPool{name(i), why})
		a.Refills = append(a.Refills, tendedPool{Pool: name(i), Added: 1e6, Batches: 20, Dry: why.Detail, Error: &why})
		a.Rebuilds = append(a.Rebuilds, tendedRebuild{alloc.SequenceName(name(i)), "0123456789ABCDEFGHIJKLMNOP", alloc.RebuildGathering, true})
		a.Jobs = append(a.Jobs, tendedJob{ID: "0123456789ABCDEFGHIJKLMNOP", Kind: alloc.JobExport, Pool: name(i), State: alloc.JobRunning, Steps: 100, Written: 1e6, Error: &why})
	}
	a.bound()
	record, err := answer{status: 200, body: a}.record()
	if err != nil || len(record) > alloc.MaxAnswerBytes {
		t.Errorf("%d bytes, %v; want at most %d", len(record), err, alloc.MaxAnswerBytes)
	}
	if len(a.Swept) != maxSwept || len(a.Failed) != maxFailed || len(a.Jobs) != maxJobs || len(a.Refills) != maxRefills ||
		len(a.Rebuilds) != maxRebuilds || a.Omitted != 100_000-maxSwept-maxFailed-maxJobs-maxRefills-maxRebuilds {
		t.Errorf("swept %d, failed %d, jobs %d, refills %d, rebuilds %d, omitted %d", len(a.Swept), len(a.Failed), len(a.Jobs), len(a.Refills), len(a.Rebuilds), a.Omitted)
	}
	var few tendAnswer
	if few.bound(); few.Omitted != 0 {
		t.Errorf("of nothing %d are left out", few.Omitted)
	}
}
