package idpool_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"idpool/alloc"
	"idpool/infra/metrics"
)

// alarm is what of an alarm is held against the code and the runbook.
type alarm struct {
	AlarmDescription string
	Namespace        string
	MetricName       string
	Dimensions       []string // their names
	TreatMissingData string
	AlarmActions     yaml.Node
}

func readAlarms(t *testing.T) (alarms map[string]alarm, dashboard string) {
	t.Helper()
	text, err := os.ReadFile("infra/observability.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Resources map[string]struct {
			Type       string    `yaml:"Type"`
			Properties yaml.Node `yaml:"Properties"`
		} `yaml:"Resources"`
	}
	if err := yaml.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	alarms = map[string]alarm{}
	for id, r := range file.Resources {
		switch r.Type {
		case "AWS::CloudWatch::Alarm":
			alarms[id] = decodeAlarm(t, id, r.Properties)
		case "AWS::CloudWatch::Dashboard":
			var d struct {
				DashboardBody string `yaml:"DashboardBody"`
			}
			if err := r.Properties.Decode(&d); err != nil {
				t.Fatal(err)
			}
			dashboard = d.DashboardBody
		default:
			t.Errorf("%s is a %s", id, r.Type)
		}
	}
	return alarms, dashboard
}

func decodeAlarm(t *testing.T, id string, node yaml.Node) (a alarm) {
	t.Helper()
	var properties map[string]yaml.Node
	if err := node.Decode(&properties); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]any{
		"AlarmDescription": &a.AlarmDescription, "Namespace": &a.Namespace, "MetricName": &a.MetricName, "TreatMissingData": &a.TreatMissingData,
	} {
		value := properties[name]
		if err := value.Decode(to); err != nil {
			t.Fatalf("%s, %s: %v", id, name, err)
		}
	}
	var dimensions []map[string]yaml.Node
	value := properties["Dimensions"]
	if err := value.Decode(&dimensions); err != nil {
		t.Fatalf("%s: %v", id, err)
	}
	for _, d := range dimensions {
		a.Dimensions = append(a.Dimensions, d["Name"].Value)
	}
	a.AlarmActions = properties["AlarmActions"]
	return a
}

func (a alarm) dimensions() string { return strings.Join(a.Dimensions, ",") }

// made are the metrics that the program makes, each with its dimensions.
func made() map[string]string {
	all := map[string]string{}
	for _, v := range metrics.Run(time.Time{}, alloc.TendReport{}, nil) {
		all[v.Name] = "table"
	}
	for _, v := range metrics.Audit(alloc.Job{}) {
		all[v.Name] = "table"
	}
	for _, name := range []string{"requests", "duration_ms", "count", "stolen"} {
		all[name] = "table,operation,outcome"
	}
	return all
}

// given are the metrics of the services around, each with the dimensions under which it has data.
var given = map[string]string{
	"AWS/Lambda": "FunctionName", "AWS/SQS": "QueueName", "AWS/DynamoDB": "TableName", "AWS/ApiGateway": "ApiId,Stage",
}

func TestEveryAlarmWatchesAMetricThatThereIs(t *testing.T) {
	alarms, dashboard := readAlarms(t)
	if len(alarms) < 20 {
		t.Fatalf("%d alarms were found: the search is broken", len(alarms))
	}
	own := made()
	for id, a := range alarms {
		want, ok := given[a.Namespace]
		if a.Namespace == metrics.Namespace {
			want, ok = own[a.MetricName]
		}
		if !ok || a.dimensions() != want {
			t.Errorf("%s watches %s %s by %q; want all of %q", id, a.Namespace, a.MetricName, a.dimensions(), want)
		}
		missing := "notBreaching"
		if id == "RefillSilent" {
			missing = "breaching"
		}
		if a.TreatMissingData != missing {
			t.Errorf("%s takes missing data as %q, want %q", id, a.TreatMissingData, missing)
		}
		if a.AlarmActions.Tag != "!If" {
			t.Errorf("%s goes to nobody", id)
		}
	}
	for _, m := range regexp.MustCompile(`\["(?:idpool|\.)", "([a-z_]+)"`).FindAllStringSubmatch(dashboard, -1) {
		if _, ok := own[m[1]]; !ok {
			t.Errorf("the dashboard shows %s, which nobody makes", m[1])
		}
	}
}

var heading = regexp.MustCompile(`(?m)^## (.+)$`)

// anchor is what a heading is found by.
func anchor(heading string) string {
	kept := regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(heading), "")
	return strings.ReplaceAll(kept, " ", "-")
}

// TestEveryAlarmHasItsParagraphInTheRunbookAndTheReverse also holds that a paragraph names its alarms.
func TestEveryAlarmHasItsParagraphInTheRunbookAndTheReverse(t *testing.T) {
	text, err := os.ReadFile("docs/runbook.md")
	if err != nil {
		t.Fatal(err)
	}
	text, _, ok := bytes.Cut(text, []byte("\n# Procedures\n")) // what follows is for more than one alarm
	if !ok {
		t.Error("the runbook has no procedures")
	}
	paragraphs := map[string]string{}
	found := heading.FindAllStringSubmatchIndex(string(text), -1)
	for i, at := range found {
		end := len(text)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		paragraphs[anchor(string(text[at[2]:at[3]]))] = string(text[at[1]:end])
	}
	named := map[string]bool{}
	alarms, _ := readAlarms(t)
	for _, id := range slices.Sorted(maps.Keys(alarms)) {
		_, name, ok := strings.Cut(alarms[id].AlarmDescription, "docs/runbook.md#")
		paragraph, there := paragraphs[name]
		named[name] = true
		switch {
		case !ok || !there:
			t.Errorf("%s: there is no paragraph %q in the runbook", id, name)
		case !strings.Contains(paragraph, fmt.Sprintf("`%s`", id)):
			t.Errorf("the paragraph %q does not name its alarm %s", name, id)
		}
	}
	for name := range paragraphs {
		if !named[name] {
			t.Errorf("no alarm leads to the paragraph %q", name)
		}
	}
}
