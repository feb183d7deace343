package sql

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"idpool/alloc"
)

// Whatever stands in the file: opening and using it ends in answers or in errors of the domain, never in a panic.
func TestSpoiledFile(t *testing.T) {
	good := newFile(t)
	storeThere(t, good)
	content, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	const pageSize = 4096
	folder, files := t.TempDir(), 0
	var pages []int
	for at := 0; at < len(content); at += pageSize {
		pages = append(pages, at)
	}
	rapid.Check(t, func(rt *rapid.T) {
		spoiled := bytes.Clone(content)
		for range rapid.IntRange(1, 4).Draw(rt, "places") {
			at := rapid.SampledFrom(pages).Draw(rt, "page") + rapid.IntRange(0, pageSize-1).Draw(rt, "at")
			copy(spoiled[at:], rapid.SliceOfN(rapid.Byte(), 1, 64).Draw(rt, "bytes"))
		}
		if rapid.IntRange(0, 9).Draw(rt, "cut") == 0 {
			spoiled = spoiled[:rapid.IntRange(1, len(spoiled)).Draw(rt, "length")]
		}
		files++
		path := filepath.Join(folder, fmt.Sprint(files)+".db")
		if err := os.WriteFile(path, spoiled, 0o600); err != nil {
			rt.Fatal(err)
		}
		s, err := OpenSQLite(t.Context(), Config{Path: path})
		if err != nil {
			return
		}
		defer s.Close()
		for name, err := range useAll(t.Context(), s) {
			if err == nil {
				continue
			}
			if _, ok := errors.AsType[*alloc.Error](err); !ok {
				rt.Errorf("%s: got the bare error %v, want one of the domain", name, err)
			}
		}
	})
}

// useAll calls what reads and writes most tables.
func useAll(ctx context.Context, s *Store) map[string]error {
	_, _, createSequence := s.CreateSequence(ctx, "q", alloc.SequenceConfig{}.WithDefaults())
	_, _, createPool := s.CreatePool(ctx, "other", alloc.PoolConfig{}.WithDefaults())
	return map[string]error{
		"create sequence": createSequence,
		"create pool":     createPool,
		"claim":           second(s.Claim(ctx, one("p"))),
		"claim with key":  second(s.Claim(ctx, keyed(50, "k"))),
		"inspect":         second(s.Inspect(ctx, "p", "id-00050")),
		"seed":            second(s.Seed(ctx, alloc.SeedBatch{Pool: "p", Job: "j", IDs: []alloc.ID{"id-00001", "new"}})),
		"lease":           second(s.Lease(ctx, alloc.LeaseOrder{Sequence: "q", Count: 1})),
		"leases":          second(s.Leases(ctx, "q", alloc.MaxNumber+1, 10)),
		"level":           second(s.Level(ctx, "p")),
		"list":            second(s.ListPools(ctx, "", 10)),
		"list sequences":  second(s.ListSequences(ctx, "", 10)),
		"sweep":           second(s.Sweep(ctx, "p")),
		"record":          s.Record(ctx, alloc.AuditRecord{ID: "r"}),
		"records":         second(s.Records(ctx, "", 10)),
		"settle": second(s.Settle(ctx, alloc.SettleOrder{
			Pool: "p", Event: alloc.EventRelease, IDs: []alloc.ID{"id-00000", "id-00001"}, Token: "t",
		})),
		"open key":          second(s.OpenKey(ctx, alloc.Key{Hash: "h", Fingerprint: "f"}, "t", nil)),
		"close key":         second(s.CloseKey(ctx, alloc.Key{Hash: "h", Fingerprint: "f"}, "t", []byte("a"))),
		"drop key":          third(s.DropKey(ctx, alloc.Key{Hash: "h", Fingerprint: "f"}, "t")),
		"create credential": s.CreateCredential(ctx, alloc.Credential{ID: "c", Created: time.Unix(0, 0), Scopes: alloc.AllScopes()}),
		"list credentials":  second(s.ListCredentials(ctx, "", 10)),
		"quota":             second(s.TakeQuota(ctx, "c", s.clock(), 1, 1)),
		"shared secret":     second(s.SharedSecret(ctx)),
		"create job":        s.CreateJob(ctx, alloc.Job{ID: "j", State: alloc.JobQueued, Created: s.clock(), Updated: s.clock()}),
		"list jobs":         second(s.ListJobs(ctx, "", 10)),
		"put part":          s.PutPart(ctx, "j", 0, alloc.Part{Data: []byte("a"), IDs: 1}),
		"part":              second(s.Part(ctx, "j", 0)),
		"failed jobs":       second(s.FailedJobs(ctx, time.Time{}, "", 10)),
		"open jobs":         second(s.OpenJobs(ctx, "", 10)),
		"put input":         s.PutInput(ctx, "j", "0", []byte("a")),
		"input":             second(s.Input(ctx, "j", "0")),
		"change refill":     second(s.ChangeRefill(ctx, 0, alloc.Refill{Pool: "p", IDs: []alloc.ID{"a"}})),
		"refill":            second(s.Refill(ctx, "p")),
		"sample":            s.SampleSequence(ctx, "q", alloc.Sample{At: s.clock()}),
		"samples":           second(s.PoolSamples(ctx, "p", s.clock().Add(-time.Hour), s.clock(), 10)),
		"other samples":     second(s.SequenceSamples(ctx, "q", s.clock().Add(-time.Hour), s.clock(), 10)),
		"watch":             second(s.Watch(ctx, "q")),
		"change rebuild":    second(s.ChangeRebuild(ctx, 0, alloc.Rebuild{Sequence: "q"})),
		"rebuild":           second(s.Rebuild(ctx, "q")),
		"evidence":          second(s.Evidence(ctx, "q")),
		"freeze":            second(s.Freeze(ctx, "q", "r")),
		"restart":           second(s.Restart(ctx, alloc.RestartOrder{Sequence: "q", Rebuild: "r", From: 1, To: 2, Next: 100})),
		"thaw":              second(s.Thaw(ctx, "q", "r", alloc.SequenceActive, 0)),
		"carry leases":      second(s.CarryLeases(ctx, "q", []alloc.LeaseRecord{{Start: 1, End: 5, Token: "t"}})),
		"audit sequence":    second(s.AuditSequence(ctx, "q", alloc.AuditOrder{Sample: 100})),
		"audit ledger":      second(s.AuditSequence(ctx, "q", alloc.AuditOrder{Step: "ledger/-1/-1/" + alloc.Gaps{}.String(), Sample: 100})),
		"audit counts":      second(s.AuditPool(ctx, "p", alloc.AuditOrder{Sample: 100})),
		"audit IDs":         second(s.AuditPool(ctx, "p", alloc.AuditOrder{Step: "ids/", Sample: 100})),
		"audit keys":        second(s.AuditPool(ctx, "p", alloc.AuditOrder{Step: "keys/", Sample: 100})),
		"pool evidence":     second(s.PoolEvidence(ctx, "p")),
		"rebuild pool":      second(s.RebuildPool(ctx, alloc.PoolRebuildOrder{Pool: "p"})),
		"carry":             second(s.Carry(ctx, "p", time.Time{}, []alloc.IDRecord{{ID: "id-00070", State: alloc.StateRetired}})),
		"intend":            s.Intend(ctx, alloc.AuditRecord{ID: "i"}),
		"intended":          second(s.Intended(ctx, s.clock(), 10)),
		"months":            second(s.Months(ctx)),
		"chain":             second(s.Chain(ctx, alloc.MonthOf(s.clock()), 0, 10)),
		"walk":              walked(s.WalkIDs(ctx, "p", "", "", 100)),
	}
}

// walked is the error of a walk.
func walked(_ []alloc.IDRecord, _ string, err error) error { return err }
