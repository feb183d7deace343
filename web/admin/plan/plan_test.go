package plan_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
	"idpool/web/admin/plan"
)

func sealer(key byte, now func() time.Time) *plan.Sealer {
	return plan.NewSealer(func(context.Context) ([]byte, error) { return []byte(strings.Repeat(string(rune(key)), 32)), nil }, now)
}

func TestAPlanIsGoodForItsPageItsSessionAndItsTime(t *testing.T) {
	clock := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	s := sealer('k', func() time.Time { return clock })
	want := plan.Plan{
		Action: "pool.pause", Target: "pool/vouchers", Version: 7, Need: alloc.ActionManage, Name: "vouchers", Typed: "vouchers",
		Params: map[string]string{"a": "b"}, Operation: "op", Session: "mine", Made: clock,
	}
	sealed, err := s.Seal(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(sealed, "vouchers") {
		t.Error("a sealed plan can be read")
	}
	clock = clock.Add(plan.Lifetime)
	for name, tt := range map[string]struct {
		by                      *plan.Sealer
		sealed, action, session string
		later                   time.Duration
		good                    bool
	}{
		"the same":                   {s, sealed, "pool.pause", "mine", 0, true},
		"another process":            {sealer('k', func() time.Time { return clock }), sealed, "pool.pause", "mine", 0, true},
		"another page":               {s, sealed, "pool.delete", "mine", 0, false},
		"another session":            {s, sealed, "pool.pause", "yours", 0, false},
		"too late":                   {s, sealed, "pool.pause", "mine", time.Second, false},
		"another key":                {sealer('x', func() time.Time { return clock }), sealed, "pool.pause", "mine", 0, false},
		"nothing":                    {s, "", "pool.pause", "mine", 0, false},
		"no base64":                  {s, "%%%", "pool.pause", "mine", 0, false},
		"too long":                   {s, strings.Repeat("A", plan.MaxBytes+1), "pool.pause", "mine", 0, false},
		"a bit less":                 {s, sealed[:len(sealed)-2], "pool.pause", "mine", 0, false},
		"the beginning was replaced": {s, "AAAA" + sealed[4:], "pool.pause", "mine", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			defer func(was time.Time) { clock = was }(clock)
			clock = clock.Add(tt.later)
			got, err := tt.by.Open(t.Context(), tt.sealed, tt.action, tt.session)
			if !tt.good {
				if !alloc.Is(err, alloc.CodePlanChanged) || !strings.Contains(err.Error(), "make a new plan") {
					t.Errorf("got %v, want plan_changed that says what to do", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzOpen(f *testing.F) {
	s := sealer('k', time.Now)
	f.Add("")
	f.Add("AAAA")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := s.Open(t.Context(), text, "a", "b"); err == nil {
			t.Errorf("%q is taken for a plan", text)
		}
	})
}
