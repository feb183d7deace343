package alloctest

import "testing"

// Run proves that the engine's Store keeps the contract of alloc.Store. Each case gets an engine of its own and ends with
// the books: seeded = free + held + claimed + returning + retired + forgotten, and no ID twice.
func Run(t *testing.T, newFixture func(t *testing.T) Fixture) {
	for _, a := range suite() {
		t.Run(a.name, func(t *testing.T) {
			for _, c := range a.cases {
				t.Run(c.name, func(t *testing.T) { c.check(t, newFixture(t)) })
			}
		})
	}
}

// area is the cases about one part of the contract.
type area struct {
	name  string
	cases []testCase
}

// testCase is one sentence of the contract. It is written against testing.TB, so that the suite's own test can hold it
// against broken Stores.
type testCase struct {
	name string
	run  func(w *world)
}

func suite() []area {
	return []area{
		{"Pools", poolCases},
		{"PoolStates", stateCases},
		{"Deleted", deletedCases},
		{"Seeds", seedCases},
		{"SeedsUpTo", upToCases},
		{"SeedsUpToAtOnce", upToRaceCases},
		{"Names", nameCases},
		{"Claims", claimCases},
		{"Sweeps", sweepCases},
		{"Forgetting", forgetCases},
		{"Keys", keyCases},
		{"KeysEnded", endedCases},
		{"KeptKeys", keptKeyCases},
		{"Refills", refillCases},
		{"Samples", sampleCases},
		{"SequenceSamples", sequenceSampleCases},
		{"Boards", boardCases},
		{"Sequences", sequenceCases},
		{"Ledger", ledgerCases},
		{"LeaseKeys", leaseKeyCases},
		{"Watch", watchCases},
		{"RebuildRecords", rebuildRecordCases},
		{"Freezes", freezeCases},
		{"Restarts", restartCases},
		{"Shares", shareCases},
		{"RebuildRaces", rebuildRaceCases},
		{"Repairs", repairCases},
		{"RepairRaces", repairRaceCases},
		{"Restores", restoreCases},
		{"LedgerRestores", ledgerRestoreCases},
		{"TimeTravel", timeTravelCases},
		{"Audits", auditCases},
		{"SequenceAudits", sequenceAuditCases},
		{"Holds", holdCases},
		{"Settling", settleCases},
		{"SettlingInPools", settlePoolCases},
		{"SettlingMixed", settleMixedCases},
		{"SettlingRaces", settleRaceCases},
		{"SettlingFaults", settleFaultCases},
		{"Seconds", secondCases},
		{"Credentials", credentialCases},
		{"Uses", useCases},
		{"Sessions", sessionCases},
		{"Quota", quotaCases},
		{"Jobs", jobCases},
		{"OpenJobs", openJobCases},
		{"FailedJobs", failedJobCases},
		{"Inputs", inputCases},
		{"Walks", walkCases},
		{"Recent", recentCases},
		{"Trail", trailCases},
		{"Chains", chainCases},
		{"Concurrency", concurrencyCases},
		{"Faults", faultCases},
		{"Contexts", contextCases},
		{"Service", serviceCases},
	}
}

func (c testCase) check(tb testing.TB, f Fixture) {
	w := newWorld(tb, f)
	c.run(w)
	if !tb.Failed() {
		w.closeBooks()
	}
}
