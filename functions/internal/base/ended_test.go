package base

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"testing"

	"idpool/alloc"
	"idpool/infra/metrics"
)

// The line of an audit that is done has its numbers as metrics; other jobs have none.
func TestTheEndOfAnAuditIsAMetric(t *testing.T) {
	var log bytes.Buffer
	f := Function{Logger: slog.New(slog.NewJSONHandler(&log, nil)), Metrics: metrics.Set{Table: "idpool"}}
	f.jobEnded(t.Context(), alloc.Job{Kind: alloc.JobSeed, State: alloc.JobDone})
	if log.Len() > 0 {
		t.Errorf("a seeding: %s", log.Bytes())
	}
	f.jobEnded(t.Context(), alloc.Job{
		ID: "j", Kind: alloc.JobAudit, State: alloc.JobDone, Pool: "p", Verdict: alloc.VerdictFindings, Tally: alloc.Tally{Findings: 7, Informing: 2},
	})
	var line struct {
		Table   string
		Job     string
		Ill     int `json:"audits_ill"`
		Trail   int `json:"audits_trail_ill"`
		Found   int `json:"audit_findings"`
		Verdict string
		AWS     struct {
			CloudWatchMetrics []struct {
				Dimensions [][]string
				Metrics    []struct{ Name string }
			}
		} `json:"_aws"`
	}
	if err := json.Unmarshal(log.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	m := line.AWS.CloudWatchMetrics
	if line.Table != "idpool" || line.Job != "j" || line.Ill != 1 || line.Trail != 0 || line.Found != 5 || line.Verdict != "findings" || len(m) != 1 || len(m[0].Metrics) != 5 ||
		m[0].Dimensions[0][0] != "table" {
		t.Errorf("the line is %s", log.Bytes())
	}
}
