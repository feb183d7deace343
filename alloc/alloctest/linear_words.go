package alloctest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/anishathalye/porcupine"
)

// describe lists the history in the order of the calls.
func (l *linear) describe() string {
	lines := []string{"from   to"}
	slices.SortFunc(l.history, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	for _, op := range l.history {
		end := fmt.Sprint(op.Return)
		if op.Return == never {
			end = "?"
		}
		in, out := op.Input.(linearInput), op.Output.(linearOutput)
		lines = append(lines, fmt.Sprintf("%4d %4s  client %d: %s → %s", op.Call, end, op.ClientId, in, out))
	}
	for _, s := range l.sweeps {
		if s.end == never {
			lines = append(lines, fmt.Sprintf("%4d    ?  a sweep that may come to any ID", s.call))
		}
	}
	return strings.Join(lines, "\n")
}

func (in linearInput) String() string {
	switch in.kind {
	case linearClaim:
		what := "claim"
		if in.hold {
			what = "hold"
		}
		if in.key > 0 {
			what += fmt.Sprintf(" with key %d", in.key)
		}
		return what
	case linearSettle:
		return fmt.Sprintf("%s of ID %d with %s", in.event, in.id, in.token)
	case linearSweep:
		return fmt.Sprintf("sweep of ID %d at %d to %d", in.id, in.from, in.to)
	}
	return fmt.Sprintf("%s of ID %d", in.kind, in.id)
}

func (out linearOutput) String() string {
	switch {
	case out.unknown:
		return "unknown"
	case out.code != "":
		return string(out.code)
	case out.state != "":
		return strings.TrimSpace(fmt.Sprint(out.state, " ", out.token))
	case out.token != "":
		return strings.TrimSuffix(fmt.Sprintf("ID %d with %s until %d", out.id, out.token, out.until), " until -62135596800")
	}
	return "done"
}
