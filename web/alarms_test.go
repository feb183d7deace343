package web

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
)

// What a run of the schedule did by itself, and somebody has to know of, has a line at ERROR; what was asked for has none.
func TestWhatARunLogs(t *testing.T) {
	report := alloc.TendReport{
		Refills: []alloc.RefillReport{{Pool: "full"}, {Pool: "dry", Dry: "all used"}, {Pool: "new", Dry: "no more", DryNow: true}},
		Rebuilds: []alloc.Rebuild{
			{Sequence: "asked", Step: alloc.RebuildPlanned, Why: "by hand"},
			{Sequence: "found", Step: alloc.RebuildResuming, Why: "its counter was lost", Auto: true},
		},
		Unheard: 2,
	}
	var log bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&log, nil))
	LogAlarms(t.Context(), logger, report)
	LogAlarms(t.Context(), logger, alloc.TendReport{})
	var got []map[string]any
	for line := range bytes.Lines(log.Bytes()) {
		var e map[string]any
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		delete(e, "time")
		got = append(got, e)
	}
	want := []map[string]any{
		{"level": "ERROR", "msg": "a generator is dry", "pool": "new", "reason": "no more"},
		{"level": "ERROR", "msg": "a sequence is rebuilt by the schedule", "sequence": "found", "step": "resuming", "reason": "its counter was lost"},
		{"level": "ERROR", "msg": "administrative steps were begun, and their processes ended before they could say how they went; the trail has them as unknown", "unheard": 2.0},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// An audit that has found something has a line at ERROR, another one at INFO; both say up to where the trail was.
func TestWhatAnAuditLogs(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&log, nil))
	end := alloc.TrailMonth{Month: "2026-11", Last: 42, Hash: "h"}
	done := alloc.Job{ID: "j", Kind: alloc.JobAudit, State: alloc.JobDone, Verdict: alloc.VerdictHealthy, Pool: "p", Spec: alloc.JobSpec{Verified: end}}
	ill := alloc.Job{ID: "k", Kind: alloc.JobAudit, State: alloc.JobDone, Verdict: alloc.VerdictHealthy, Spec: alloc.JobSpec{Sequence: "s"}, Tally: alloc.Tally{Trail: 1}}
	LogAudit(t.Context(), logger, done, slog.Int("more", 1))
	LogAudit(t.Context(), logger, ill)
	var got []map[string]any
	for line := range bytes.Lines(log.Bytes()) {
		var e map[string]any
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		delete(e, "time")
		got = append(got, e)
	}
	want := []map[string]any{
		{
			"level": "INFO", "msg": "an audit is done", "job": "j", "pool": "p", "verdict": "healthy", "trail_verdict": "healthy", "more": 1.0,
			"trail_end": map[string]any{"month": "2026-11", "position": 42.0, "hash": "h"},
		},
		{"level": "ERROR", "msg": "an audit is done", "job": "k", "sequence": "s", "verdict": "healthy", "trail_verdict": "findings"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !AuditDone(done) || AuditDone(alloc.Job{Kind: alloc.JobAudit, State: alloc.JobFailed}) || AuditDone(alloc.Job{Kind: alloc.JobSeed, State: alloc.JobDone}) {
		t.Error("what is an audit that is done is not known")
	}
}

// A sequence that has stopped has a line at WARN, with why and where.
func TestWhatAStopLogs(t *testing.T) {
	var log bytes.Buffer
	logger := slog.New(slog.NewJSONHandler(&log, nil))
	LogStop(t.Context(), logger, alloc.Stop{Sequence: "s", Reason: "behind", Known: true, Next: 9007199254740993})
	LogStop(t.Context(), logger, alloc.Stop{Sequence: "s", Reason: "lost"})
	LogStop(t.Context(), logger, alloc.Stop{Sequence: "s", Reason: "behind", Paused: true})
	var got []map[string]any
	for line := range bytes.Lines(log.Bytes()) {
		var e map[string]any
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		delete(e, "time")
		got = append(got, e)
	}
	const said = "a sequence has stopped, and hands out nothing until it is rebuilt"
	want := []map[string]any{
		{"level": "WARN", "msg": said, "sequence": "s", "reason": "behind", "next": "9007199254740993"},
		{"level": "WARN", "msg": said, "sequence": "s", "reason": "lost"},
		{"level": "WARN", "msg": "the counter of a paused sequence is wrong, and it is to be rebuilt before it is resumed", "sequence": "s", "reason": "behind"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
