package main

import (
	"context"
	"encoding/json"
	"log/slog"
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
		want string // the result as JSON
		err  string // a part of the error; "" for none
	}{
		{
			"nothing to do",
			tending{},
			`{"swept":0,"passed":0,"relisted":0,"returned":0,"voided":0,"unswept":[],"left":0,"failed":{},"jobs":0,"written":0,"stuck":{}}`, "",
		},
		{
			"two pools, one with work left",
			tending{report: alloc.TendReport{Swept: []alloc.SweepReport{{Pool: "a", Passed: 3, Relisted: 1}, {Pool: "b", Passed: 4, Returned: 2, Voided: 1, More: true}}}},
			`{"swept":2,"passed":7,"relisted":1,"returned":2,"voided":1,"unswept":["b"],"left":0,"failed":{},"jobs":0,"written":0,"stuck":{}}`, "",
		},
		{
			"a pool that fails makes the run fail and hides no other",
			tending{report: alloc.TendReport{Swept: []alloc.SweepReport{{Pool: "a"}}, Failed: map[alloc.PoolName]error{"b": broken}}},
			`{"swept":1,"passed":0,"relisted":0,"returned":0,"voided":0,"unswept":[],"left":0,"failed":{"b":"pool_damaged"},"jobs":0,"written":0,"stuck":{}}`, "sweep b",
		},
		{
			"a pool that is being rebuilt is for the next run",
			tending{report: alloc.TendReport{Failed: map[alloc.PoolName]error{"b": alloc.Errorf(alloc.CodePoolRebuilding, "soon over")}}},
			`{"swept":0,"passed":0,"relisted":0,"returned":0,"voided":0,"unswept":["b"],"left":0,"failed":{},"jobs":0,"written":0,"stuck":{}}`, "",
		},
		{
			"a pool whose rebuild began between two sweeps is told once",
			tending{report: alloc.TendReport{
				Swept:  []alloc.SweepReport{{Pool: "b", Passed: 1, More: true}},
				Failed: map[alloc.PoolName]error{"b": alloc.Errorf(alloc.CodePoolRebuilding, "soon over")},
			}},
			`{"swept":1,"passed":1,"relisted":0,"returned":0,"voided":0,"unswept":["b"],"left":0,"failed":{},"jobs":0,"written":0,"stuck":{}}`, "",
		},
		{
			"two jobs, one of which is stuck",
			tending{report: alloc.TendReport{Jobs: []alloc.JobReport{
				{Job: alloc.Job{ID: "a"}, Steps: 2, IDs: 50}, {Job: alloc.Job{ID: "b"}, Err: alloc.Errorf(alloc.CodeThrottled, "later")},
			}}},
			`{"swept":0,"passed":0,"relisted":0,"returned":0,"voided":0,"unswept":[],"left":0,"failed":{},"jobs":2,"written":50,"stuck":{"b":"throttled"}}`, "job b",
		},
		{
			"the store does not answer",
			tending{err: alloc.Errorf(alloc.CodeUnavailable, "later")},
			`{"swept":0,"passed":0,"relisted":0,"returned":0,"voided":0,"unswept":[],"left":0,"failed":{},"jobs":0,"written":0,"stuck":{}}`, "unavailable",
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
			if string(got) != tt.want {
				t.Errorf("result %s\nwant   %s", got, tt.want)
			}
			if lines := strings.Count(log.String(), "\n"); lines != 1 || !strings.Contains(log.String(), tt.want) {
				t.Errorf("log, want one line with the result: %s", log.String())
			}
			if !strings.Contains(log.String(), `"level":"ERROR"`) != (tt.err == "") {
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
