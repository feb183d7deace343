package dynamotest

import (
	"cmp"
	"reflect"

	"idpool/infra/dynamo"
)

// Holds evaluates a condition on an item (nil for none) as DynamoDB does: a comparison with a missing attribute or one
// of another type is false, but for Ne, which is true. Order is defined of strings and numbers only.
func Holds(c dynamo.Cond, it dynamo.Item) (bool, error) {
	switch c.Op {
	case dynamo.OpTrue:
		return true, nil
	case dynamo.OpAll, dynamo.OpAny:
		return holdsOf(c, it)
	}
	if c.Attr == "" {
		return false, invalid("the condition %+v names no attribute", c)
	}
	have, there := it[c.Attr]
	switch c.Op {
	case dynamo.OpAbsent:
		return !there, nil
	case dynamo.OpExists:
		return there, nil
	}
	if !known(c.Value) {
		return false, invalid("the condition on %s compares with a %T", c.Attr, c.Value)
	}
	switch c.Op {
	case dynamo.OpEq:
		return there && equal(have, c.Value), nil
	case dynamo.OpNe:
		return !there || !equal(have, c.Value), nil
	}
	return holdsOrder(c, have)
}

// holdsOf evaluates every part, so that an invalid one is found whatever the others say.
func holdsOf(c dynamo.Cond, it dynamo.Item) (bool, error) {
	if len(c.Of) == 0 {
		return false, invalid("the condition %q has no parts", c.Op)
	}
	all, one := true, false
	for _, part := range c.Of {
		ok, err := Holds(part, it)
		if err != nil {
			return false, err
		}
		all, one = all && ok, one || ok
	}
	if c.Op == dynamo.OpAll {
		return all, nil
	}
	return one, nil
}

func holdsOrder(c dynamo.Cond, have any) (bool, error) {
	var order int
	var comparable bool
	switch want := c.Value.(type) {
	case string:
		var s string
		s, comparable = have.(string)
		order = cmp.Compare(s, want)
	case int64:
		var n int64
		n, comparable = have.(int64)
		order = cmp.Compare(n, want)
	default:
		return false, invalid("the condition on %s orders a %T", c.Attr, c.Value)
	}
	switch c.Op {
	case dynamo.OpLt:
		return comparable && order < 0, nil
	case dynamo.OpLe:
		return comparable && order <= 0, nil
	case dynamo.OpGt:
		return comparable && order > 0, nil
	case dynamo.OpGe:
		return comparable && order >= 0, nil
	}
	return false, invalid("the operator %q", c.Op)
}

func equal(a, b any) bool { return reflect.DeepEqual(a, b) }
