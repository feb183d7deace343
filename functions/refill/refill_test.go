package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"idpool/alloc"
)

// tending answers with what it was made of, after it has waited for the context's end where that is wanted.
type tending struct {
	report alloc.TendReport
	err    error
	wait   bool
	caller alloc.Caller
	ended  time.Time
}

func (t *tending) Tend(ctx context.Context) (alloc.TendReport, error) {
	t.caller, _ = alloc.CallerFrom(ctx)
	if t.wait {
		<-ctx.Done()
		t.ended = time.Now()
	}
	return t.report, t.err
}

func TestRun(t *testing.T) {
	broken := alloc.Errorf(alloc.CodePoolDamaged, "its head is lost")
	tests := []struct {
		name string
		tend tending
		want string // the members of the result that are not empty, as JSON
		err  string // a part of the error; "" for none

		alarms int // lines that a person should see at once
	}{
		{
			"nothing to do",
			tending{},
			`{}`, "", 0,
		},
		{
			"two pools, one with work left",
			tending{report: alloc.TendReport{Swept: []alloc.SweepReport{{Pool: "a", Passed: 3, Relisted: 1}, {Pool: "b", Passed: 4, Returned: 2, Voided: 1, More: true}}}},
			`{"swept":2,"passed":7,"relisted":1,"returned":2,"voided":1,"unswept":["b"]}`, "", 0,
		},
		{
			"a sequence that is stopped, one that the run rebuilds, and a step of which nobody knows how it ended",
			tending{report: alloc.TendReport{
				Sequences: []alloc.SequenceStanding{{Sequence: "s", State: alloc.SequenceStopped}, {Sequence: "u", State: alloc.SequenceActive}},
				Rebuilds:  []alloc.Rebuild{{Sequence: "t", Auto: true, Step: alloc.RebuildResuming}}, Unheard: 1,
			}},
			`{"stopped":["s"],"rebuilds":{"t":"resuming"},"unheard":1}`, "", 2,
		},
		{
			"a pool that fails makes the run fail and hides no other",
			tending{report: alloc.TendReport{Swept: []alloc.SweepReport{{Pool: "a"}}, Failed: map[alloc.PoolName]error{"b": broken}}},
			`{"swept":1,"failed":{"b":"pool_damaged"}}`, "sweep b", 0,
		},
		{
			"a pool that is being rebuilt is for the next run",
			tending{report: alloc.TendReport{Failed: map[alloc.PoolName]error{"b": alloc.Errorf(alloc.CodePoolRebuilding, "soon over")}}},
			`{"unswept":["b"]}`, "", 0,
		},
		{
			"a pool whose rebuild began between two sweeps is told once",
			tending{report: alloc.TendReport{
				Swept:  []alloc.SweepReport{{Pool: "b", Passed: 1, More: true}},
				Failed: map[alloc.PoolName]error{"b": alloc.Errorf(alloc.CodePoolRebuilding, "soon over")},
			}},
			`{"swept":1,"passed":1,"unswept":["b"]}`, "", 0,
		},
		{
			"two jobs, one of which is stuck",
			tending{report: alloc.TendReport{Jobs: []alloc.JobReport{
				{Job: alloc.Job{ID: "a"}, Steps: 2, IDs: 50}, {Job: alloc.Job{ID: "b"}, Err: alloc.Errorf(alloc.CodeThrottled, "later")},
			}}},
			`{"jobs":2,"written":50,"stuck":{"b":"throttled"}}`, "job b", 0,
		},
		{
			"the store does not answer",
			tending{err: alloc.Errorf(alloc.CodeUnavailable, "later")},
			`{}`, "unavailable", 0,
		},
		{
			"a pool was filled, another's generator is dry as it was, a third's has become so, a fourth cannot be filled",
			tending{report: alloc.TendReport{
				Refills: []alloc.RefillReport{
					{Pool: "a", Added: 7, Batches: 1},
					{Pool: "b", Dry: "all used"},
					{Pool: "c", Dry: "no more", DryNow: true},
					{Pool: "d", Added: 2, Err: broken},
					{Pool: "e", Err: alloc.Errorf(alloc.CodePoolRebuilding, "soon over")},
				},
				Pools: []alloc.PoolStanding{{Pool: "a", Low: 5, Level: alloc.Level{Available: 5}}, {Pool: "b", Low: 5, Level: alloc.Level{Available: 4}}},
				Open:  3, Sent: 1, Foreign: 2, Unsent: 4,
			}},
			`{"added":9,"low":["b"],"dry":{"b":"all used","c":"no more"},"unfilled":{"d":"pool_damaged"},"open":3,"foreign":2,"sent":1,"unsent":4}`, "refill d", 1,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var log strings.Builder
			r := &refill{service: &tt.tend, logger: slog.New(slog.NewJSONHandler(&log, nil))}
			res, err := r.run(t.Context(), json.RawMessage(`{"source":"aws.scheduler"}`))
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
			got, err := json.Marshal(res)
			if err != nil {
				t.Fatal(err)
			}
			if got := withoutEmpty(t, got); got != tt.want {
				t.Errorf("result %s\nwant   %s", got, tt.want)
			}
			if runs, told := strings.Count(log.String(), `"msg":"run of the schedule"`), strings.Contains(log.String(), string(got)); runs != 1 || !told {
				t.Errorf("log, want one line with the result: %s", log.String())
			}
			if n := strings.Count(log.String(), `"runs":1`); n != 1 {
				t.Errorf("log, want one line with the metrics of the run, got %d: %s", n, log.String())
			}
			said := regexp.MustCompile("a generator is dry|is rebuilt by the schedule|were begun, and their processes ended")
			if n := len(said.FindAllString(log.String(), -1)); n != tt.alarms {
				t.Errorf("log, want %d lines for a person: %s", tt.alarms, log.String())
			}
			if strings.Contains(log.String(), `"level":"ERROR"`) != (tt.err != "" || tt.alarms > 0) {
				t.Errorf("level of the line: %s", log.String())
			}
			if c := tt.tend.caller; c.Client != "schedule" || len(c.Scopes) != 1 || c.Scopes[0].Action != alloc.ActionTend {
				t.Errorf("caller %+v, want the schedule with the one scope to tend", c)
			}
		})
	}
}

func TestRunEndsBeforeTheFunctionDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tend := &tending{wait: true, report: alloc.TendReport{Left: 1}}
		ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
		defer cancel()
		begin := time.Now()
		res, err := (&refill{service: tend, logger: slog.New(slog.DiscardHandler)}).run(ctx, nil)
		if err != nil || res.Left != 1 || len(res.Failed) != 0 {
			t.Errorf("result %+v, error %v, want the pool left for the next run", res, err)
		}
		if took := tend.ended.Sub(begin); took != 58*time.Second {
			t.Errorf("the run ended after %s, want 58s", took)
		}
	})
}

// withoutEmpty is the object without its members that are 0 or empty.
func withoutEmpty(t *testing.T, object []byte) string {
	t.Helper()
	members := regexp.MustCompile(`"[a-z]+":(0|\[\]|\{\})(,|\})`)
	text := members.ReplaceAllStringFunc(string(object), func(m string) string {
		if strings.HasSuffix(m, "}") && !strings.HasSuffix(m, "{}") || strings.HasSuffix(m, "{}}") {
			return "}"
		}
		return ""
	})
	if text = strings.ReplaceAll(text, ",}", "}"); !json.Valid([]byte(text)) {
		t.Fatalf("%s is no object", text)
	}
	return text
}
