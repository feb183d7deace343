package plan_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
	"idpool/alloc/alloctest"
	"idpool/web/admin/plan"
)

func TestAPlanIsGoodForItsPageItsSessionAndItsTime(t *testing.T) {
	clock := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	now := func() time.Time { return clock }
	store := alloctest.NewModel(now)
	process := func(store alloc.Store) *alloc.Service {
		svc, err := alloc.NewService(alloc.Config{Store: store, Now: now})
		if err != nil {
			t.Fatal(err)
		}
		return svc
	}
	ours := process(store)
	want := plan.Plan{
		Action: "pool.pause", Target: "pool/vouchers", Version: 7, Need: alloc.ActionManage, Name: "vouchers", Typed: "vouchers",
		Params: map[string]string{"a": "b"}, Operation: "op",
	}
	sealed, err := plan.Seal(t.Context(), ours, want, "mine", clock)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(sealed, "vouchers") {
		t.Error("a sealed plan can be read")
	}
	cursor, err := ours.Seal(t.Context(), "another purpose", []byte("{}"), clock.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	clock = clock.Add(plan.Lifetime - time.Second)
	for name, tt := range map[string]struct {
		by                      *alloc.Service
		sealed, action, session string
		later                   time.Duration
		good                    bool
	}{
		"the same":                        {ours, sealed, "pool.pause", "mine", 0, true},
		"another process":                 {process(store), sealed, "pool.pause", "mine", 0, true},
		"another page":                    {ours, sealed, "pool.delete", "mine", 0, false},
		"another session":                 {ours, sealed, "pool.pause", "yours", 0, false},
		"too late":                        {ours, sealed, "pool.pause", "mine", time.Second, false},
		"another system":                  {process(alloctest.NewModel(now)), sealed, "pool.pause", "mine", 0, false},
		"what was sealed for another use": {ours, cursor, "pool.pause", "mine", 0, false},
		"nothing":                         {ours, "", "pool.pause", "mine", 0, false},
		"no base64":                       {ours, "%%%", "pool.pause", "mine", 0, false},
		"too long":                        {ours, strings.Repeat("A", plan.MaxBytes+1), "pool.pause", "mine", 0, false},
		"a bit less":                      {ours, sealed[:len(sealed)-2], "pool.pause", "mine", 0, false},
		"the beginning was replaced":      {ours, "AAAA" + sealed[4:], "pool.pause", "mine", 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			defer func(was time.Time) { clock = was }(clock)
			clock = clock.Add(tt.later)
			got, err := plan.Open(t.Context(), tt.by, tt.sealed, tt.action, tt.session)
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
