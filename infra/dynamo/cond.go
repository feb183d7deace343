package dynamo

// Op is the operator of a condition.
type Op string

// The operators. An attribute that is missing satisfies Absent and Ne only, as in DynamoDB.
const (
	OpTrue   Op = ""       // the empty condition: always holds
	OpAbsent Op = "absent" // attribute_not_exists
	OpExists Op = "exists" // attribute_exists
	OpEq     Op = "="
	OpNe     Op = "<>"
	OpLt     Op = "<"
	OpLe     Op = "<="
	OpGt     Op = ">"
	OpGe     Op = ">="
	OpAll    Op = "and"
	OpAny    Op = "or"
)

// Cond is a condition on the item as it is before the write. As data it can be rendered, evaluated in memory and, by
// the mutants of the model check, weakened.
type Cond struct {
	Op    Op
	Attr  string
	Value any
	Of    []Cond // of OpAll and OpAny
}

// Absent holds if the attribute is missing; Absent("pk") if the item is.
func Absent(attr string) Cond { return Cond{Op: OpAbsent, Attr: attr} }

// Exists holds if the attribute is there.
func Exists(attr string) Cond { return Cond{Op: OpExists, Attr: attr} }

// Eq holds if the attribute is there and equal.
func Eq(attr string, v any) Cond { return Cond{Op: OpEq, Attr: attr, Value: v} }

// Ne holds if the attribute is missing or differs.
func Ne(attr string, v any) Cond { return Cond{Op: OpNe, Attr: attr, Value: v} }

// Lt holds if the attribute is there, of the same type, and lower.
func Lt(attr string, v any) Cond { return Cond{Op: OpLt, Attr: attr, Value: v} }

// Le holds if the attribute is there, of the same type, and not higher.
func Le(attr string, v any) Cond { return Cond{Op: OpLe, Attr: attr, Value: v} }

// Gt holds if the attribute is there, of the same type, and higher.
func Gt(attr string, v any) Cond { return Cond{Op: OpGt, Attr: attr, Value: v} }

// Ge holds if the attribute is there, of the same type, and not lower.
func Ge(attr string, v any) Cond { return Cond{Op: OpGe, Attr: attr, Value: v} }

// All holds if each of the conditions does.
func All(of ...Cond) Cond { return Cond{Op: OpAll, Of: of} }

// Any holds if one of the conditions does.
func Any(of ...Cond) Cond { return Cond{Op: OpAny, Of: of} }
