package dynamo

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// expression renders conditions and updates. Names always stand behind '#': most short words are reserved.
type expression struct {
	names  map[string]string
	values map[string]types.AttributeValue
	err    error // the first value that cannot be stored
}

func newExpression() *expression {
	return &expression{names: make(map[string]string, 8), values: make(map[string]types.AttributeValue, 8)}
}

func (e *expression) name(attr string) string {
	n := "#" + attr
	e.names[n] = attr
	return n
}

func (e *expression) value(v any) string {
	av, err := encode(v)
	if err != nil && e.err == nil {
		e.err = fmt.Errorf("in an expression: %w", err)
	}
	n := ":" + strconv.Itoa(len(e.values))
	e.values[n] = av
	return n
}

// cond renders a condition; "" is one that always holds.
func (e *expression) cond(c Cond) string {
	switch c.Op {
	case OpTrue:
		return ""
	case OpAbsent:
		return "attribute_not_exists(" + e.name(c.Attr) + ")"
	case OpExists:
		return "attribute_exists(" + e.name(c.Attr) + ")"
	case OpNe:
		// DynamoDB's <> holds for a missing attribute too.
		return e.name(c.Attr) + " <> " + e.value(c.Value)
	case OpEq, OpLt, OpLe, OpGt, OpGe:
		return e.name(c.Attr) + " " + string(c.Op) + " " + e.value(c.Value)
	case OpAll:
		return e.join(c.Of, " AND ", false)
	case OpAny:
		return e.join(c.Of, " OR ", true)
	}
	if e.err == nil {
		e.err = fmt.Errorf("unknown operator %q", c.Op)
	}
	return ""
}

// join renders the parts of a conjunction or, with either, of a disjunction. A part that always holds drops out of a
// conjunction and makes a disjunction hold always; a disjunction of nothing never holds.
func (e *expression) join(of []Cond, by string, either bool) string {
	if either && len(of) == 0 {
		return "(attribute_exists(" + e.name("pk") + ") AND attribute_not_exists(" + e.name("pk") + "))"
	}
	if either && slices.ContainsFunc(of, always) {
		return ""
	}
	parts := make([]string, 0, len(of))
	for _, c := range of {
		if s := e.cond(c); s != "" {
			parts = append(parts, s)
		}
	}
	switch len(parts) {
	case 0:
		return ""
	case 1:
		return parts[0]
	}
	return "(" + strings.Join(parts, by) + ")"
}

func always(c Cond) bool {
	switch c.Op {
	case OpTrue:
		return true
	case OpAll:
		return !slices.ContainsFunc(c.Of, func(c Cond) bool { return !always(c) })
	case OpAny:
		return slices.ContainsFunc(c.Of, always)
	}
	return false
}

// update renders what a write changes, in the order of the names.
func (e *expression) update(u Update) string {
	var b strings.Builder
	sep := "SET "
	for _, attr := range slices.Sorted(maps.Keys(u.Set)) {
		b.WriteString(sep + e.name(attr) + " = " + e.value(u.Set[attr]))
		sep = ", "
	}
	for _, attr := range slices.Sorted(maps.Keys(u.Add)) {
		// Not the ADD action, nor if_not_exists: on a lost counter both begin silently at the bottom.
		b.WriteString(sep + e.name(attr) + " = " + e.name(attr) + " + " + e.value(u.Add[attr]))
		sep = ", "
	}
	sep = " REMOVE "
	for _, attr := range u.Remove {
		b.WriteString(sep + e.name(attr))
		sep = ", "
	}
	return strings.TrimSpace(b.String())
}

// query renders the key condition.
func (e *expression) query(q Query) string {
	s := e.name("pk") + " = " + e.value(q.PK)
	switch {
	case q.From != "" && q.To != "":
		s += " AND " + e.name("sk") + " BETWEEN " + e.value(q.From) + " AND " + e.value(q.To)
	case q.From != "":
		s += " AND " + e.name("sk") + " >= " + e.value(q.From)
	case q.To != "":
		s += " AND " + e.name("sk") + " <= " + e.value(q.To)
	}
	return s
}

// prefixes renders that the attribute begins with one of these; "" for none.
func (e *expression) prefixes(attr string, list []string) string {
	parts := make([]string, len(list))
	for i, p := range list {
		parts[i] = "begins_with(" + e.name(attr) + ", " + e.value(p) + ")"
	}
	return strings.Join(parts, " OR ")
}

// attrs returns names and values; nil where there are none, which DynamoDB demands.
func (e *expression) attrs() (map[string]string, map[string]types.AttributeValue) {
	names, values := e.names, e.values
	if len(names) == 0 {
		names = nil
	}
	if len(values) == 0 {
		values = nil
	}
	return names, values
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return aws.String(s)
}
