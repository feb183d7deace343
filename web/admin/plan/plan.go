// Package plan seals what an administrator has confirmed: the page that asks for a confirmation carries a plan, and the plan is
// what runs, whatever else the browser sends. Nobody can read, make up or change one, nor use that of another session or page, and it
// is good for a while only. What it was made for may have changed meanwhile: that is found out by the version in it.
package plan

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"time"

	"idpool/alloc"
)

// Lifetime is how long a plan can be carried out after it was made.
const Lifetime = 30 * time.Minute

// MaxBytes is the greatest length of a sealed plan.
const MaxBytes = 64 << 10

// Plan is one step that was looked at and is to be confirmed.
type Plan struct {
	Action    string            `json:"a"`           // which step
	Target    string            `json:"t"`           // on what, as the trail writes it: "pool/vouchers"
	Version   alloc.Version     `json:"v,omitempty"` // of the target when it was looked at; 0 where there is none
	Need      alloc.Action      `json:"n"`           // what carrying it out needs,
	Name      string            `json:"on"`          // on the pool or sequence of that name, or "*" for all
	Typed     string            `json:"y,omitempty"` // what has to be typed to confirm it; "" for nothing
	Reason    bool              `json:"r,omitempty"` // a reason has to be given
	Params    map[string]string `json:"p,omitempty"` // with what
	Operation string            `json:"o"`           // one of its own for each plan: a step that is sent twice is done once
}

// Same reports whether both do the same, to the same as it was looked at, and ask for the same to be typed.
func (p Plan) Same(other Plan) bool {
	params := maps.Equal(p.Params, other.Params) // one that was opened has none in the place of empty ones
	p.Params, other.Params = nil, nil
	return params && reflect.DeepEqual(p, other)
}

// Sealer seals texts, so that nobody can read or change them: alloc.Service is one.
type Sealer interface {
	Seal(ctx context.Context, purpose string, text []byte, until time.Time) (string, error)
	Unseal(ctx context.Context, purpose, sealed string) ([]byte, error)
}

// purpose binds a plan to its step and to whose session it is of.
func purpose(action, session string) string { return "plan\n" + action + "\n" + session }

// Seal returns the plan as a page of the session carries it.
func Seal(ctx context.Context, by Sealer, p Plan, session string, now time.Time) (string, error) {
	text, err := json.Marshal(p)
	if err != nil {
		return "", alloc.Errorf(alloc.CodeInternal, "a plan cannot be written").Because(err)
	}
	sealed, err := by.Seal(ctx, purpose(p.Action, session), text, now.Add(Lifetime))
	if err == nil && len(sealed) > MaxBytes {
		return "", alloc.Errorf(alloc.CodeInvalidRequest, "what is to be done is too long for one plan; do it in parts")
	}
	return sealed, err
}

// Open returns the plan if it was sealed for the action and the session, and is not too old: else alloc.CodePlanChanged, as there has to be
// a new one.
func Open(ctx context.Context, by Sealer, sealed, action, session string) (p Plan, err error) {
	bad := alloc.Errorf(alloc.CodePlanChanged, "this plan is not of this page and this session, or is older than %d minutes; go back and make a new plan", int(Lifetime.Minutes()))
	if len(sealed) > MaxBytes {
		return Plan{}, bad
	}
	text, err := by.Unseal(ctx, purpose(action, session), sealed)
	switch {
	case alloc.Is(err, alloc.CodeInvalidRequest):
		return Plan{}, bad
	case err != nil:
		return Plan{}, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if d.Decode(&p) != nil || p.Action != action {
		return Plan{}, bad
	}
	return p, nil
}
