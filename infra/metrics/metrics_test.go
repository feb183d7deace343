package metrics_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
	"idpool/infra/metrics"
	"idpool/web"
)

var update = flag.Bool("update", false, "write the golden file anew")

// line is the log line of one request to the handler.
func line(t *testing.T, h http.HandlerFunc) []byte {
	t.Helper()
	var log bytes.Buffer
	at := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	now := func() time.Time {
		at = at.Add(12 * time.Millisecond)
		return at
	}
	logger := slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey { // that of the machine
			return slog.Attr{}
		}
		return a
	}}))
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/pools/p/claims", http.NoBody)
	r.RemoteAddr = "192.0.2.1:4711"
	web.Stack(h, web.Options{Logger: logger, Now: now, Metrics: metrics.Set{Table: "idpool-test"}.Embedded}).ServeHTTP(httptest.NewRecorder(), r)
	return regexp.MustCompile(`"request_id":"[A-Z2-7]{26}"`).ReplaceAll(log.Bytes(), []byte(`"request_id":"(random)"`))
}

func TestTheLineOfARequest(t *testing.T) {
	got := line(t, func(w http.ResponseWriter, r *http.Request) {
		web.SetOperation(r.Context(), "claim")
		web.SetOutcome(r.Context(), web.OutcomeReplay)
		web.Note(r.Context(), slog.Int(web.KeyCount, 3), slog.Int(web.KeyStolen, 2))
		w.WriteHeader(http.StatusCreated)
	})
	const file = "testdata/line.json"
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got), write it anew with -update:\n%s", file, diff)
	}
}

// What the format says: a metric and a dimension are members of the line itself, a metric is a number, a dimension a text.
func TestEveryMetricAndDimensionIsInTheLine(t *testing.T) {
	handlers := map[string]http.HandlerFunc{
		"a success": func(w http.ResponseWriter, r *http.Request) { web.Note(r.Context(), slog.Int(web.KeyStolen, 0)) },
		"a refusal": func(w http.ResponseWriter, r *http.Request) { web.WriteError(w, r, alloc.Exhausted("p", 1)) },
		"a throttle": func(w http.ResponseWriter, r *http.Request) {
			e := alloc.Errorf(alloc.CodeThrottled, "later")
			e.Throttle = "TableWriteKeyRangeThroughputExceeded"
			web.WriteError(w, r, e)
		},
		"a panic":    func(http.ResponseWriter, *http.Request) { panic("x") },
		"a long one": func(_ http.ResponseWriter, r *http.Request) { web.SetOperation(r.Context(), "tend") },
	}
	for name, h := range handlers {
		t.Run(name, func(t *testing.T) {
			text := line(t, h)
			var members map[string]any
			if err := json.Unmarshal(text, &members); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			var said struct {
				AWS struct {
					Timestamp         int64
					CloudWatchMetrics []struct {
						Namespace  string
						Dimensions [][]string
						Metrics    []struct{ Name, Unit string }
					}
				} `json:"_aws"`
			}
			if err := json.Unmarshal(text, &said); err != nil {
				t.Fatal(err)
			}
			if n := 1 + len(regexp.MustCompile(`"throttle":`).FindAll(text, -1)); len(said.AWS.CloudWatchMetrics) != n || said.AWS.Timestamp < 1e12 {
				t.Fatalf("no metrics: %s", text)
			}
			d := said.AWS.CloudWatchMetrics[0]
			if d.Namespace != "idpool" || !slices.Equal(d.Dimensions[0], []string{"table", web.KeyOperation, web.KeyOutcome}) {
				t.Errorf("namespace %q, dimensions %v", d.Namespace, d.Dimensions)
			}
			for _, d := range said.AWS.CloudWatchMetrics {
				for _, name := range d.Dimensions[0] {
					if text, ok := members[name].(string); !ok || text == "" {
						t.Errorf("the dimension %s is %v", name, members[name])
					}
				}
				units := []string{"Count", "Milliseconds"}
				for _, m := range d.Metrics {
					if _, ok := members[m.Name].(float64); !ok || !slices.Contains(units, m.Unit) {
						t.Errorf("the metric %s in %s is %v", m.Name, m.Unit, members[m.Name])
					}
				}
			}
		})
	}
}

func TestAnEventWithoutDimensionsIsNoMetric(t *testing.T) {
	for _, event := range [][]slog.Attr{nil, {slog.String("operation", "claim")}, {slog.String("outcome", "first"), slog.Int("count", 1)}} {
		if got := (metrics.Set{Table: "t"}).Embedded(time.Now(), event); got != nil {
			t.Errorf("%v gives %v", event, got)
		}
	}
}
