package main

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"idpool/alloc"
	"idpool/infra/metrics"
	"idpool/infra/sqs"
	"idpool/web"
)

// monitor is what /metrics shows: requests as they are answered, and the runs of the schedule with how pools and sequences stood
// after the last one. They are the numbers that the functions give to CloudWatch, under the same names.
type monitor struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	stolen   prometheus.Counter
	throttle *prometheus.CounterVec
	queue    func() int

	mu     sync.Mutex
	last   alloc.TendReport
	at     time.Time // of the last run; zero before the first
	values []metrics.Value
	sums   map[string]float64
}

// newMonitor returns a monitor that has seen nothing yet. queue tells how many jobs wait for a worker.
func newMonitor(queue func() int) *monitor {
	m := &monitor{
		registry: prometheus.NewRegistry(), queue: queue, sums: map[string]float64{},
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "idpool_requests_total", Help: "Requests answered."}, []string{"operation", "outcome"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "idpool_request_duration_seconds", Help: "From the request's arrival to its answer.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"operation"}),
		stolen: prometheus.NewCounter(prometheus.CounterOpts{Name: "idpool_stolen_total", Help: "IDs that were tried and found taken by somebody else."}),
	}
	m.throttle = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "idpool_throttled_total", Help: "Requests that the table refused because of load, by its reason."}, []string{"throttle"})
	m.registry.MustRegister(m.requests, m.duration, m.stolen, m.throttle, m, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// request is for web.Options.Metrics. It adds nothing to the line.
func (m *monitor) request(_ time.Time, event []slog.Attr) []slog.Attr {
	var operation, outcome string
	var took float64
	for _, a := range event {
		switch a.Key {
		case web.KeyOperation:
			operation = a.Value.String()
		case web.KeyOutcome:
			outcome = a.Value.String()
		case web.KeyDuration:
			took = a.Value.Float64()
		case web.KeyStolen:
			m.stolen.Add(float64(a.Value.Int64()))
		case web.KeyThrottle:
			m.throttle.WithLabelValues(a.Value.String()).Inc()
		}
	}
	m.requests.WithLabelValues(operation, outcome).Inc()
	m.duration.WithLabelValues(operation).Observe(took / 1000)
	return nil
}

// counted is work that counts as requests do in the log of the function worker.
func (m *monitor) counted(work sqs.Work) sqs.Work {
	return func(ctx context.Context, s alloc.Step) error {
		begin := time.Now()
		err := work(ctx, s)
		outcome := "carried_out"
		if err != nil {
			outcome = "failed"
		}
		m.requests.WithLabelValues("work", outcome).Inc()
		m.duration.WithLabelValues("work").Observe(time.Since(begin).Seconds())
		return err
	}
}

// ran keeps what a run of the schedule has said.
func (m *monitor) ran(at time.Time, r alloc.TendReport, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.values, m.last, m.at = metrics.Run(at, r, err), r, at
	for _, v := range m.values {
		if v.Sum {
			m.sums[v.Name] += v.Of
		}
	}
}

// ended counts audits that are done, and logs them.
func (m *monitor) ended(logger *slog.Logger) func(context.Context, alloc.Job) {
	return func(ctx context.Context, j alloc.Job) {
		if !web.AuditDone(j) {
			return
		}
		m.mu.Lock()
		for _, v := range metrics.Audit(j) {
			m.sums[v.Name] += v.Of
		}
		m.mu.Unlock()
		web.LogAudit(ctx, logger, j)
	}
}

// Describe implements prometheus.Collector: what is collected depends on the pools that there are.
func (m *monitor) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (m *monitor) Collect(to chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	gauge := func(name, help string, value float64, labels ...string) {
		var names, values []string
		for i := 0; i < len(labels); i += 2 {
			names, values = append(names, labels[i]), append(values, labels[i+1])
		}
		to <- prometheus.MustNewConstMetric(prometheus.NewDesc("idpool_"+name, help, names, nil), prometheus.GaugeValue, value, values...)
	}
	gauge("queue_waiting", "Jobs that wait for a worker.", float64(m.queue()))
	counter := func(v metrics.Value) {
		to <- prometheus.MustNewConstMetric(prometheus.NewDesc("idpool_"+v.Name+"_total", v.Help, nil, nil), prometheus.CounterValue, m.sums[v.Name])
	}
	for _, v := range metrics.Audit(alloc.Job{}) {
		counter(v)
	}
	if m.at.IsZero() {
		return
	}
	gauge("last_run_timestamp_seconds", "When the last run of the schedule ended.", float64(m.at.UnixMilli())/1000)
	for _, v := range m.values {
		if v.Sum {
			counter(v)
			continue
		}
		gauge(v.Name, v.Help, v.Of)
	}
	for _, p := range m.last.Pools {
		for _, v := range metrics.Pool(p) {
			gauge("pool_"+v.Name, v.Help, v.Of, "pool", string(p.Pool))
		}
	}
	for _, q := range m.last.Sequences {
		for _, v := range metrics.Sequence(q) {
			gauge("sequence_"+v.Name, v.Help, v.Of, "sequence", string(q.Sequence))
		}
	}
}

// handler serves /metrics to callers that may read everything: it names every pool.
func (m *monitor) handler() http.Handler {
	shown := promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		web.SetOperation(r.Context(), "metrics")
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			web.WriteError(w, r, alloc.Errorf(web.CodeMethodNotAllowed, "this path does not take the method of the request; it takes GET, HEAD"))
			return
		}
		caller, _ := alloc.CallerFrom(r.Context())
		for _, s := range caller.Scopes {
			if s.Permits(alloc.ActionRead, "*") {
				shown.ServeHTTP(w, r)
				return
			}
		}
		web.WriteError(w, r, alloc.Errorf(alloc.CodeForbidden, "this needs the scope read:*, which this credential does not have; ask an administrator for it"))
	})
}
