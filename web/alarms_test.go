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
