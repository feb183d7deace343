// Package metrics makes CloudWatch metrics of log events: what it adds to a line is the embedded metric format, by which
// CloudWatch Logs reads metrics out of the line itself. No call is made for them, and no daemon runs. Every metric has all
// of its dimensions in every line, so that an alarm names them once and finds all the data.
package metrics

import (
	"log/slog"
	"time"
)

// Namespace is where the metrics are found.
const Namespace = "idpool"

// Set is the metrics of one deployment.
type Set struct {
	Table string // its table: a dimension of every metric, so that two deployments in one account are told apart
	Pools bool   // metrics for each pool too: each is charged for by itself
}

// The dimensions of an event. Operation and outcome have few values; nothing that a client chooses is among them.
const dimTable = "table"

func eventDimensions() []string { return []string{dimTable, "operation", "outcome"} }

// metric is a member of a line that is a measurement, with its unit as CloudWatch names it.
type metric struct {
	Name string
	Unit string
}

// measured are the attributes that are made metrics of, where an event has them.
var measured = []metric{
	{"duration_ms", "Milliseconds"},
	{"count", "Count"},  // IDs or numbers that were asked for
	{"stolen", "Count"}, // IDs that were tried and found taken by somebody else
}

// requests is the metric that counts the events, and throttled the one that counts those that the table refused because of
// load, by the reason that it gave.
const (
	requests  = "requests"
	throttled = "throttled"

	dimThrottle = "throttle"
)

// directive says what of a line is a metric; see the specification of the embedded metric format.
type directive struct {
	Namespace  string
	Dimensions [][]string
	Metrics    []metric
}

type metadata struct {
	Timestamp         int64 // milliseconds since 1970
	CloudWatchMetrics []directive
}

func embedded(at time.Time, directives ...directive) slog.Attr {
	return slog.Any("_aws", metadata{Timestamp: at.UnixMilli(), CloudWatchMetrics: directives})
}

func direct(dimensions []string, metrics ...metric) directive {
	return directive{Namespace: Namespace, Dimensions: [][]string{dimensions}, Metrics: metrics}
}

// Embedded returns the attributes that make metrics of an event with the attributes given. It is for web.Options.Metrics,
// and for a logger that writes attributes as members of one JSON object a line. An event that lacks a dimension is no
// metric.
func (s Set) Embedded(at time.Time, event []slog.Attr) []slog.Attr {
	has := map[string]bool{dimTable: true}
	for _, a := range event {
		has[a.Key] = true
	}
	for _, d := range eventDimensions() {
		if !has[d] {
			return nil
		}
	}
	metrics := []metric{{requests, "Count"}}
	for _, m := range measured {
		if has[m.Name] {
			metrics = append(metrics, m)
		}
	}
	line := []slog.Attr{slog.String(dimTable, s.Table), slog.Int(requests, 1)}
	directives := []directive{direct(eventDimensions(), metrics...)}
	if has[dimThrottle] {
		line = append(line, slog.Int(throttled, 1))
		directives = append(directives, direct([]string{dimTable, dimThrottle}, metric{throttled, "Count"}))
	}
	return append(line, embedded(at, directives...))
}
