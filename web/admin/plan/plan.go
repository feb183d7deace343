// Package plan seals what an administrator has confirmed: the page that asks for a confirmation carries a plan, and the plan is
// what runs, whatever else the browser sends. Nobody can read, make up or change one, nor use that of another session, and it
// is good for a while only. What it was made for may have changed meanwhile: that is found out by the version in it.
package plan

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/json"
	"sync"
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
	Session   string            `json:"s"`           // whose it is
	Made      time.Time         `json:"m"`
}

// Sealer seals and opens plans. It is safe for concurrent use.
type Sealer struct {
	key func(context.Context) ([]byte, error)
	now func() time.Time

	mu   sync.Mutex
	aead cipher.AEAD
}

// NewSealer returns a Sealer with the key, of 32 bytes, which is read at the first use and has to be the same in every process.
func NewSealer(key func(context.Context) ([]byte, error), now func() time.Time) *Sealer {
	return &Sealer{key: key, now: now}
}

var bound = []byte("idpool plan 1")

func (s *Sealer) cipher(ctx context.Context) (cipher.AEAD, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.aead != nil {
		return s.aead, nil
	}
	key, err := s.key(ctx)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, alloc.Errorf(alloc.CodeInternal, "no plan can be sealed").Because(err)
	}
	if s.aead, err = cipher.NewGCMWithRandomNonce(block); err != nil {
		return nil, alloc.Errorf(alloc.CodeInternal, "no plan can be sealed").Because(err)
	}
	return s.aead, nil
}

// Seal returns the plan as a page carries it.
func (s *Sealer) Seal(ctx context.Context, p Plan) (string, error) {
	aead, err := s.cipher(ctx)
	if err != nil {
		return "", err
	}
	p.Made = s.now().UTC()
	text, err := json.Marshal(p)
	if err != nil {
		return "", alloc.Errorf(alloc.CodeInternal, "a plan cannot be written").Because(err)
	}
	sealed := base64.RawURLEncoding.EncodeToString(aead.Seal(nil, nil, text, bound))
	if len(sealed) > MaxBytes {
		return "", alloc.Errorf(alloc.CodeInvalidRequest, "what is to be done is too long for one plan; do it in parts")
	}
	return sealed, nil
}

// Open returns the plan if it was sealed for the action and the session, and is not too old: else alloc.CodePlanChanged, as there has to be
// a new plan.
func (s *Sealer) Open(ctx context.Context, sealed, action, session string) (Plan, error) {
	aead, err := s.cipher(ctx)
	if err != nil {
		return Plan{}, err
	}
	p, ok := open(aead, sealed)
	switch {
	case !ok || p.Action != action:
		return Plan{}, alloc.Errorf(alloc.CodePlanChanged, "this is no plan of this page; go back and make a new plan")
	case p.Session != session:
		return Plan{}, alloc.Errorf(alloc.CodePlanChanged, "this plan was made in another session; go back and make a new plan")
	case s.now().Sub(p.Made) > Lifetime:
		return Plan{}, alloc.Errorf(alloc.CodePlanChanged, "this plan is older than %d minutes; go back and make a new plan", int(Lifetime.Minutes()))
	}
	return p, nil
}

func open(aead cipher.AEAD, sealed string) (p Plan, ok bool) {
	if len(sealed) > MaxBytes {
		return Plan{}, false
	}
	raw, err := base64.RawURLEncoding.Strict().DecodeString(sealed)
	if err != nil {
		return Plan{}, false
	}
	text, err := aead.Open(nil, nil, raw, bound)
	if err != nil {
		return Plan{}, false
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return p, d.Decode(&p) == nil
}
