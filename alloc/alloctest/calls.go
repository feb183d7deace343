package alloctest

import (
	"context"
	"time"

	"idpool/alloc"
)

// lateJob is one that comes too late.
var lateJob = alloc.Job{ID: "20380119T000000.000000Z-late", Kind: alloc.JobExport, Pool: "p", State: alloc.JobQueued, Created: time.Unix(1<<31, 0)}

// callsOf is one call of each method.
func callsOf(s alloc.Store) map[string]func(ctx context.Context) error {
	return map[string]func(ctx context.Context) error{
		"CreatePool": func(ctx context.Context) error {
			_, _, err := s.CreatePool(ctx, "new", alloc.PoolConfig{}.WithDefaults())
			return err
		},
		"Pool": func(ctx context.Context) error { _, err := s.Pool(ctx, "p"); return err },
		"ChangePool": func(ctx context.Context) error {
			_, err := s.ChangePool(ctx, "p", 1, alloc.PoolConfig{MaxBatch: 3}.WithDefaults())
			return err
		},
		"SetPoolState": func(ctx context.Context) error { _, err := s.SetPoolState(ctx, "p", 0, alloc.PoolPaused); return err },
		"ListPools":    func(ctx context.Context) error { _, err := s.ListPools(ctx, "", 10); return err },
		"Level":        func(ctx context.Context) error { _, err := s.Level(ctx, "p"); return err },
		"Claim":        func(ctx context.Context) error { _, err := s.Claim(ctx, order("p", 2)); return err },
		"Claim with a key": func(ctx context.Context) error {
			_, err := s.Claim(ctx, keyedOrder("p", 2, "k"))
			return err
		},
		"Inspect": func(ctx context.Context) error { _, err := s.Inspect(ctx, "p", "p-00000"); return err },
		"Seed": func(ctx context.Context) error {
			_, err := s.Seed(ctx, alloc.SeedBatch{Pool: "p", Job: "late", IDs: []alloc.ID{"late"}})
			return err
		},
		"Seed up to a level": func(ctx context.Context) error {
			_, err := s.Seed(ctx, alloc.SeedBatch{Pool: "p", Job: "late refill", IDs: []alloc.ID{"later"}, UpTo: 1000})
			return err
		},
		"Sweep": func(ctx context.Context) error { _, err := s.Sweep(ctx, "p"); return err },
		"CreateSequence": func(ctx context.Context) error {
			_, _, err := s.CreateSequence(ctx, "new", alloc.SequenceConfig{}.WithDefaults())
			return err
		},
		"Sequence": func(ctx context.Context) error { _, err := s.Sequence(ctx, "s"); return err },
		"ChangeSequence": func(ctx context.Context) error {
			_, err := s.ChangeSequence(ctx, "s", 1, alloc.SequenceConfig{MaxLease: 3}.WithDefaults())
			return err
		},
		"SetSequenceState": func(ctx context.Context) error {
			_, err := s.SetSequenceState(ctx, "s", 0, alloc.SequencePaused)
			return err
		},
		"ListSequences":    func(ctx context.Context) error { _, err := s.ListSequences(ctx, "", 10); return err },
		"Lease":            func(ctx context.Context) error { _, err := s.Lease(ctx, leaseOrder("s", 2)); return err },
		"Lease with a key": func(ctx context.Context) error { _, err := s.Lease(ctx, keyedLease("s", 2, "k")); return err },
		"Leases":           func(ctx context.Context) error { _, err := s.Leases(ctx, "s", alloc.MaxNumber+1, 10); return err },
		"Record": func(ctx context.Context) error {
			return s.Record(ctx, alloc.AuditRecord{ID: "20380119T000000.000000Z-late", Client: "c", Action: "a", Target: "t", Result: "ok"})
		},
		"Records": func(ctx context.Context) error { _, err := s.Records(ctx, "", 10); return err },
		"Settle": func(ctx context.Context) error {
			_, err := s.Settle(ctx, alloc.SettleOrder{Pool: "p", Event: alloc.EventRelease, IDs: []alloc.ID{"p-00000"}, Token: alloc.NewToken()})
			return err
		},
		"OpenKey": func(ctx context.Context) error {
			_, err := s.OpenKey(ctx, someKey("late"), alloc.NewToken(), nil)
			return err
		},
		"FindKey": func(ctx context.Context) error { _, _, err := s.FindKey(ctx, someKey("late")); return err },
		"CloseKey": func(ctx context.Context) error {
			_, err := s.CloseKey(ctx, someKey("late"), alloc.NewToken(), []byte("answer"))
			return err
		},
		"DropKey": func(ctx context.Context) error {
			_, _, err := s.DropKey(ctx, someKey("late"), alloc.NewToken())
			return err
		},
		"CreateCredential": func(ctx context.Context) error {
			return s.CreateCredential(ctx, alloc.Credential{ID: "late22222222", Client: "c", Hash: someHash("late")})
		},
		"Credential": func(ctx context.Context) error { _, err := s.Credential(ctx, "late22222222"); return err },
		"ChangeCredential": func(ctx context.Context) error {
			_, err := s.ChangeCredential(ctx, 1, alloc.Credential{ID: "late22222222", Hash: someHash("late")})
			return err
		},
		"ListCredentials": func(ctx context.Context) error { _, err := s.ListCredentials(ctx, "", 10); return err },
		"UseCredential":   func(ctx context.Context) error { return s.UseCredential(ctx, "late22222222", time.Unix(1<<31, 0)) },
		"CredentialUses": func(ctx context.Context) error {
			_, err := s.CredentialUses(ctx, []alloc.CredentialID{"late22222222"})
			return err
		},
		"TakeQuota": func(ctx context.Context) error {
			_, err := s.TakeQuota(ctx, "late22222222", time.Unix(0, 0), 1, 10)
			return err
		},
		"SharedSecret": func(ctx context.Context) error { _, err := s.SharedSecret(ctx); return err },
		"CreateJob":    func(ctx context.Context) error { return s.CreateJob(ctx, lateJob) },
		"Job":          func(ctx context.Context) error { _, err := s.Job(ctx, lateJob.ID); return err },
		"ChangeJob":    func(ctx context.Context) error { _, err := s.ChangeJob(ctx, 1, lateJob); return err },
		"ListJobs":     func(ctx context.Context) error { _, err := s.ListJobs(ctx, "", 10); return err },
		"OpenJobs":     func(ctx context.Context) error { _, err := s.OpenJobs(ctx, "", 10); return err },
		"FailedJobs":   func(ctx context.Context) error { _, err := s.FailedJobs(ctx, time.Unix(0, 0), "", 10); return err },
		"PutInput":     func(ctx context.Context) error { return s.PutInput(ctx, lateJob.ID, "0.late.0", []byte("x")) },
		"Input":        func(ctx context.Context) error { _, err := s.Input(ctx, lateJob.ID, "0.late.0"); return err },
		"PutPart":      func(ctx context.Context) error { return s.PutPart(ctx, lateJob.ID, 0, alloc.Part{Data: []byte("x")}) },
		"Part":         func(ctx context.Context) error { _, err := s.Part(ctx, lateJob.ID, 0); return err },
		"WalkIDs":      func(ctx context.Context) error { _, _, err := s.WalkIDs(ctx, "p", "", "", 10); return err },
		"RecentClaims": func(ctx context.Context) error { _, err := s.RecentClaims(ctx, "p", 10); return err },
		"Refill":       func(ctx context.Context) error { _, err := s.Refill(ctx, "p"); return err },
		"ChangeRefill": func(ctx context.Context) error {
			_, err := s.ChangeRefill(ctx, 0, alloc.Refill{Pool: "p", Filling: true})
			return err
		},
		"PutBoard": func(ctx context.Context) error { return s.PutBoard(ctx, time.Unix(1<<31, 0), []byte("late")) },
		"PoolLevels": func(ctx context.Context) error {
			_, err := s.PoolLevels(ctx, []alloc.PoolName{"p"})
			return err
		},
		"Board": func(ctx context.Context) error { _, err := s.Board(ctx); return err },
		"PoolSamples": func(ctx context.Context) error {
			_, err := s.PoolSamples(ctx, "p", time.Unix(0, 0), time.Unix(1<<32, 0), 10)
			return err
		},
		"SampleSequence": func(ctx context.Context) error {
			return s.SampleSequence(ctx, "s", alloc.Sample{At: time.Unix(1<<31, 0), Available: 1})
		},
		"SequenceSamples": func(ctx context.Context) error {
			_, err := s.SequenceSamples(ctx, "s", time.Unix(0, 0), time.Unix(1<<32, 0), 10)
			return err
		},
		"Watch": func(ctx context.Context) error { _, err := s.Watch(ctx, "s"); return err },
		"Intend": func(ctx context.Context) error {
			return s.Intend(ctx, alloc.AuditRecord{ID: "20380119T000000.000000Z-late", Client: "c", Action: "a", Target: "t"})
		},
		"Intended": func(ctx context.Context) error { _, err := s.Intended(ctx, time.Unix(1<<32, 0), 10); return err },
		"Months":   func(ctx context.Context) error { _, err := s.Months(ctx); return err },
		"Chain":    func(ctx context.Context) error { _, err := s.Chain(ctx, "2038-01", 0, 10); return err },
		"Rebuild":  func(ctx context.Context) error { _, err := s.Rebuild(ctx, "s"); return err },
		"ChangeRebuild": func(ctx context.Context) error {
			_, err := s.ChangeRebuild(ctx, 0, alloc.Rebuild{Sequence: "s", ID: "late", Change: "late", Step: alloc.RebuildGathering})
			return err
		},
		"Evidence":   func(ctx context.Context) error { _, err := s.Evidence(ctx, "s"); return err },
		"WalkLedger": func(ctx context.Context) error { _, _, err := s.WalkLedger(ctx, "s", "", 10); return err },
		"Freeze":     func(ctx context.Context) error { _, err := s.Freeze(ctx, "s", "late"); return err },
		"Restart": func(ctx context.Context) error {
			_, err := s.Restart(ctx, alloc.RestartOrder{Sequence: "s", Rebuild: "late", From: 1, To: 2, Next: 5000, Config: alloc.SequenceConfig{}.WithDefaults()})
			return err
		},
		"Thaw": func(ctx context.Context) error {
			_, err := s.Thaw(ctx, "s", "late", alloc.SequenceActive, 0)
			return err
		},
		"PoolEvidence": func(ctx context.Context) error { _, err := s.PoolEvidence(ctx, "p"); return err },
		"RebuildPool": func(ctx context.Context) error {
			_, err := s.RebuildPool(ctx, alloc.PoolRebuildOrder{Pool: "p", Job: "late"})
			return err
		},
		"AbandonRebuild": func(ctx context.Context) error { return s.AbandonRebuild(ctx, "p", "late") },
		"Stock":          func(ctx context.Context) error { _, _, err := s.Stock(ctx, "p", "", 10); return err },
		"Carry": func(ctx context.Context) error {
			_, err := s.Carry(ctx, "p", time.Unix(1<<30, 0), []alloc.IDRecord{{Pool: "p", ID: "p-00001", State: alloc.StateClaimed, Token: alloc.NewToken(), At: time.Unix(1<<31, 0)}})
			return err
		},
		"LookUp": func(ctx context.Context) error { _, err := s.LookUp(ctx, "p", []alloc.ID{"p-00001"}); return err },
		"CarryLeases": func(ctx context.Context) error {
			_, err := s.CarryLeases(ctx, "s", []alloc.LeaseRecord{{Start: 900, End: 909, Token: alloc.NewToken(), At: time.Unix(1<<31, 0), Epoch: 1, Proven: true}})
			return err
		},
		"AuditPool": func(ctx context.Context) error {
			_, err := s.AuditPool(ctx, "p", alloc.AuditOrder{Job: "late", Sample: 100})
			return err
		},
		"AuditSequence": func(ctx context.Context) error {
			_, err := s.AuditSequence(ctx, "s", alloc.AuditOrder{Job: "late", Sample: 100})
			return err
		},
		"Ready": func(ctx context.Context) error { return s.Ready(ctx) },
	}
}
