package functions_test

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// grant is one permission of a function's role: an action on the items whose partition key fits a pattern, in which *
// stands for anything, or on the job queue.
type grant struct{ action, pattern string }

// access is a call of the table by a function, as far as permission goes.
type access struct{ operation, key string }

// statement is one statement of a policy. Only the form that grantsOf understands is in use.
type statement struct {
	Sid       string               `yaml:"Sid"`
	Effect    string               `yaml:"Effect"`
	Action    oneOrMore            `yaml:"Action"`
	Resource  yaml.Node            `yaml:"Resource"`
	Condition map[string]yaml.Node `yaml:"Condition"`
}

// policy is one policy of a function, perhaps one that a condition of the template gives or leaves out.
type policy struct {
	Statement []statement `yaml:"Statement"`
}

func (p *policy) UnmarshalYAML(n *yaml.Node) error {
	if n.Tag == "!If" && len(n.Content) == 3 && n.Content[0].Value == "HasOldTable" {
		n = n.Content[1]
	}
	type plain policy
	return n.Decode((*plain)(p))
}

// oneOrMore is a text or a list of texts.
type oneOrMore []string

func (o *oneOrMore) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*o = []string{n.Value}
		return nil
	}
	return n.Decode((*[]string)(o))
}

const (
	conditionOperator = "ForAllValues:StringLike"
	conditionKey      = "dynamodb:LeadingKeys"
)

// theQueue stands for the job queue where grants and calls have a partition key, everyKey for the keys of a whole table, and
// before those of the old table stands ofOld.
const (
	theQueue = "JobQueue"
	everyKey = "*"
	ofOld    = "old:"
)

// oldTable is what a template calls the table from before a restore.
const oldTable = "arn:${AWS::Partition}:dynamodb:${AWS::Region}:${AWS::AccountId}:table/${OldTableName}"

// grantsOf reads what a template grants to a function. What it cannot judge is an error: a grant that is not for the one
// table or the one queue, or not for named kinds of items, and an action in two statements (of a call on several items each of the
// statements would have to allow all).
func grantsOf(template []byte, function string) ([]grant, error) {
	var tmpl struct {
		Resources map[string]struct {
			Properties yaml.Node `yaml:"Properties"`
		} `yaml:"Resources"`
	}
	if err := yaml.Unmarshal(template, &tmpl); err != nil {
		return nil, err
	}
	r, ok := tmpl.Resources[function]
	if !ok {
		return nil, fmt.Errorf("there is no resource %s", function)
	}
	var properties struct {
		Policies []policy `yaml:"Policies"`
	}
	if err := r.Properties.Decode(&properties); err != nil {
		return nil, err
	}
	var grants []grant
	var faults []error
	seen := map[string]bool{}
	for _, p := range properties.Policies {
		for _, st := range p.Statement {
			patterns, err := st.patterns()
			if err != nil {
				faults = append(faults, fmt.Errorf("%s, statement %s: %w", function, st.Sid, err))
			}
			for _, a := range st.Action {
				on := a + " on " + st.Resource.Value // of another table it is another action
				if seen[on] {
					faults = append(faults, fmt.Errorf("%s, statement %s: the action %s stands in two statements", function, st.Sid, a))
				}
				seen[on] = true
				for _, pattern := range patterns {
					grants = append(grants, grant{a, pattern})
				}
			}
		}
	}
	return grants, errors.Join(faults...)
}

// patterns are those of the partition keys that the statement is for, or the queue.
func (st statement) patterns() (patterns oneOrMore, err error) {
	node, ok := st.Condition[conditionOperator]
	switch {
	case st.Effect != "Allow":
		return nil, fmt.Errorf("its effect is %q, want Allow", st.Effect)
	case st.Resource.Tag == "!GetAtt" && st.Resource.Value == theQueue+".Arn" && slices.Equal(st.Action, []string{"sqs:SendMessage"}) && len(st.Condition) == 0:
		return oneOrMore{theQueue}, nil
	case st.Resource.Tag == "!GetAtt" && st.Resource.Value == "Table.Arn" && slices.Equal(st.Action, []string{"dynamodb:Scan"}) && len(st.Condition) == 0:
		return oneOrMore{everyKey}, nil // no condition can narrow a scan
	case st.Resource.Tag == "!Sub" && st.Resource.Value == oldTable && ok && len(st.Condition) == 1:
		patterns, err = keysOf(node)
		for i := range patterns {
			patterns[i] = ofOld + patterns[i]
		}
		return patterns, err
	case st.Resource.Tag != "!GetAtt" || st.Resource.Value != "Table.Arn":
		return nil, errors.New("it is not for the table alone")
	case !ok || len(st.Condition) != 1:
		return nil, fmt.Errorf("its condition is not one of %s", conditionOperator)
	}
	return keysOf(node)
}

// keysOf are the patterns of a condition.
func keysOf(node yaml.Node) (patterns oneOrMore, err error) {
	var keys map[string]oneOrMore
	if err := node.Decode(&keys); err != nil {
		return nil, err
	}
	if patterns = keys[conditionKey]; len(keys) != 1 || len(patterns) == 0 {
		return nil, fmt.Errorf("its condition is not one of %s", conditionKey)
	}
	return patterns, nil
}

// allows reports whether the grant lets the call through.
func (g grant) allows(a access) bool {
	if a.key == theQueue || g.pattern == theQueue {
		return g == grant{a.operation, a.key}
	}
	if g.action != "dynamodb:"+a.operation {
		return false
	}
	if (g.pattern == everyKey) != (a.key == everyKey) {
		return false
	}
	pattern := strings.ReplaceAll(regexp.QuoteMeta(g.pattern), `\*`, ".*")
	return regexp.MustCompile(`(?s)^` + pattern + `$`).MatchString(a.key)
}

// grantFaults holds grants against calls, both ways: a call that is not granted, and a grant without which every call
// would be granted all the same. So there is none that could be left out unnoticed.
func grantFaults(grants []grant, calls []access) []string {
	var faults []string
	needed := make([]bool, len(grants))
	for _, c := range calls {
		var by []int
		for i, g := range grants {
			if g.allows(c) {
				by = append(by, i)
			}
		}
		switch len(by) {
		case 0:
			faults = append(faults, fmt.Sprintf("%s on %s is called and not granted", c.operation, c.key))
		case 1:
			needed[by[0]] = true
		}
	}
	for i, g := range grants {
		if !needed[i] {
			faults = append(faults, fmt.Sprintf("%s on %s is granted and not needed by any call", g.action, g.pattern))
		}
	}
	return faults
}

const sampleTemplate = `
Resources:
  Table:
    Type: AWS::DynamoDB::Table
    Properties: { TableName: x }
  SampleFunction:
    Properties:
      Policies:
        - Version: "2012-10-17"
          Statement:
            - Sid: Write
              Effect: Allow
              Action: [dynamodb:PutItem, dynamodb:UpdateItem]
              Resource: !GetAtt Table.Arn
              Condition: { "ForAllValues:StringLike": { "dynamodb:LeadingKeys": ["P#*", "K#*"] } }
            - Sid: Remove
              Effect: Allow
              Action: dynamodb:DeleteItem
              Resource: !GetAtt Table.Arn
              Condition: { "ForAllValues:StringLike": { "dynamodb:LeadingKeys": "P#*#R" } }
            - Sid: Send
              Effect: Allow
              Action: sqs:SendMessage
              Resource: !GetAtt JobQueue.Arn
`

func TestGrantsAreHeldAgainstCalls(t *testing.T) {
	calls := []access{
		{"PutItem", "P#a"},
		{"PutItem", "K#1"},
		{"UpdateItem", "P#a#1#0"},
		{"UpdateItem", "K#1"},
		{"DeleteItem", "P#a#R"},
		{"sqs:SendMessage", theQueue},
	}
	tests := []struct {
		name     string
		old, new string // of the template
		calls    []access
		want     []string
	}{
		{"everything is granted and used", "", "", calls, nil},
		{
			"an action is left out", "dynamodb:PutItem, ", "", calls,
			[]string{"PutItem on P#a is called and not granted", "PutItem on K#1 is called and not granted"},
		},
		{
			"the right to delete is another", "dynamodb:DeleteItem", "dynamodb:UpdateTable", calls,
			[]string{"DeleteItem on P#a#R is called and not granted", "dynamodb:UpdateTable on P#*#R is granted and not needed by any call"},
		},
		{
			"the right to delete is for other items", "P#*#R", "P#*#V", calls,
			[]string{"DeleteItem on P#a#R is called and not granted", "dynamodb:DeleteItem on P#*#V is granted and not needed by any call"},
		},
		{
			"a kind of items is left out", `, "K#*"`, "", calls,
			[]string{"PutItem on K#1 is called and not granted", "UpdateItem on K#1 is called and not granted"},
		},
		{
			"a kind of items is granted that nobody touches", `"K#*"`, `"K#*", "A#*"`, calls,
			[]string{"dynamodb:PutItem on A#* is granted and not needed by any call", "dynamodb:UpdateItem on A#* is granted and not needed by any call"},
		},
		{
			"a grant is contained in another", `"K#*"`, `"K#*", "P#a"`, calls,
			[]string{
				"dynamodb:PutItem on P#* is granted and not needed by any call", "dynamodb:PutItem on P#a is granted and not needed by any call",
				"dynamodb:UpdateItem on P#a is granted and not needed by any call",
			},
		},
		{
			"calls are made no more", "", "", calls[:4],
			[]string{
				"dynamodb:DeleteItem on P#*#R is granted and not needed by any call",
				"sqs:SendMessage on JobQueue is granted and not needed by any call",
			},
		},
		{
			"a scan of the table is granted", "            - Sid: Send\n", "            - Sid: Scan\n              Effect: Allow\n              Action: dynamodb:Scan\n              Resource: !GetAtt Table.Arn\n            - Sid: Send\n",
			append(slices.Clone(calls), access{"Scan", everyKey}), nil,
		},
		{
			"the old table is another", `"K#*"`, `"K#*", "I#*"`, append(slices.Clone(calls), access{"PutItem", "I#a"}, access{"UpdateItem", ofOld + "I#a"}),
			[]string{"UpdateItem on old:I#a is called and not granted", "dynamodb:UpdateItem on I#* is granted and not needed by any call"},
		},
		{
			"a call is new", "", "", append(slices.Clone(calls), access{"Scan", everyKey}, access{"DeleteItem", "P#a"}),
			[]string{"Scan on * is called and not granted", "DeleteItem on P#a is called and not granted"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			grants, err := grantsOf([]byte(strings.Replace(sampleTemplate, tt.old, tt.new, 1)), "SampleFunction")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, grantFaults(grants, tt.calls)); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

// TestWhatIsReadInPartsOfManyMayBeReadAlone holds for each function: a read of many items that has one to read is another call.
func TestWhatIsReadInPartsOfManyMayBeReadAlone(t *testing.T) {
	for _, function := range []string{"AllocateFunction", "AdminFunction", "RefillFunction", "WorkerFunction"} {
		grants := templateGrants(t, function)
		for _, g := range grants {
			if g.action == "dynamodb:BatchGetItem" && !slices.Contains(grants, grant{"dynamodb:GetItem", g.pattern}) {
				t.Errorf("%s may read %s in parts of many, and not alone", function, g.pattern)
			}
		}
	}
}

func TestGrantsThatCannotBeJudgedAreRefused(t *testing.T) {
	const keys = `"ForAllValues:StringLike": { "dynamodb:LeadingKeys": "P#*#R" }`
	tests := []struct{ name, old, new, want string }{
		{"a denial", "Effect: Allow", "Effect: Deny", "want Allow"},
		{"every table", "!GetAtt Table.Arn", `"*"`, "not for the table alone"},
		{"another table", "!GetAtt Table.Arn", "!GetAtt Other.Arn", "not for the table alone"},
		{"another call of the queue", "sqs:SendMessage", "sqs:*", "not for the table alone"},
		{"another queue", "!GetAtt JobQueue.Arn", "!GetAtt DeadLetters.Arn", "not for the table alone"},
		{"every item", "Condition: { " + keys + " }", "", "not one of ForAllValues:StringLike"},
		{"a second condition", keys, keys + `, "Bool": { "aws:SecureTransport": "true" }`, "not one of ForAllValues:StringLike"},
		{"another condition", "ForAllValues:StringLike", "ForAnyValue:StringLike", "not one of ForAllValues:StringLike"},
		{"another key", "dynamodb:LeadingKeys", "dynamodb:Attributes", "not one of dynamodb:LeadingKeys"},
		{"no kind of items", `"P#*#R"`, "[]", "not one of dynamodb:LeadingKeys"},
		{"an action in two statements", "Action: dynamodb:DeleteItem", "Action: dynamodb:PutItem", "stands in two statements"},
		{"another function", "SampleFunction", "OtherFunction", "no resource SampleFunction"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if !strings.Contains(sampleTemplate, tt.old) {
				t.Fatalf("%q is not in the template", tt.old)
			}
			grants, err := grantsOf([]byte(strings.ReplaceAll(sampleTemplate, tt.old, tt.new)), "SampleFunction")
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("grants %v, error %v, want %q", grants, err, tt.want)
			}
		})
	}
}

// templateGrants are those of the project's template.
func templateGrants(t *testing.T, function string) []grant {
	t.Helper()
	text, err := os.ReadFile("../template.yaml")
	if err != nil {
		t.Fatal(err)
	}
	grants, err := grantsOf(text, function)
	if err != nil {
		t.Error(err)
	}
	return grants
}
