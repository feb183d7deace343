package alloc_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/generator"
)

func TestPreviews(t *testing.T) {
	p := newPlant(t, filled(1, 2, yearly))
	p.clock.Advance(time.Date(2037, time.June, 1, 0, 0, 0, 0, time.UTC).Sub(p.clock.Now()))
	ask := func(c alloc.PoolConfig) (alloc.Preview, error) {
		return p.PreviewGenerator(p.ctx, alloc.PreviewRequest{Pool: "new", Config: c})
	}
	got, err := ask(filled(10, 1000, digits(6)))
	if err != nil || len(got.Examples) != 5 || got.Space != "1000000" || got.Target != 1000 || got.Collision != 0.001 || got.Guesses < 900 || got.Guesses > 1000 {
		t.Errorf("of digits: %+v, %v", got, err)
	}
	for _, id := range got.Examples {
		if err := digits(6).Verify(id); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	if got, err := ask(filled(10, 1000, uuids)); err != nil || len(got.Examples) != 5 || got.Space != "" || got.Bits == 0 || got.Guesses != 0 {
		t.Errorf("of UUIDs: %+v, %v", got, err)
	}
	sample := func(c alloc.PoolConfig, want ...string) {
		t.Helper()
		for range 2 { // nothing is taken
			if got, err := ask(c); err != nil || !slices.Equal(got.Examples, want) {
				t.Errorf("got %v, %v, want %v", got.Examples, err, want)
			}
		}
	}
	sample(filled(1, 2, yearly), "inv-2037-000001", "inv-2037-000002", "inv-2037-000003", "inv-2037-000004", "inv-2037-000005")
	p.run()
	sample(filled(1, 2, yearly), "inv-2037-000003", "inv-2037-000004", "inv-2037-000005", "inv-2037-000006", "inv-2037-000007")
	if _, err := p.Lease(p.ctx, alloc.LeaseRequest{Sequence: "invoices", Count: 97}); err != nil {
		t.Fatal(err)
	}
	narrow := plain
	narrow.Format = "{n:2}"
	sample(filled(1, 2, narrow), "98", "99")
	if _, err := p.Lease(p.ctx, alloc.LeaseRequest{Sequence: "invoices", Count: 2}); err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]alloc.PoolConfig{
		"a format without room":   filled(1, 2, narrow),
		"no generator":            {},
		"a target above the room": filled(1, 1000, generator.Config{Kind: generator.Sequence, Sequence: "invoices", Format: "{n:3}"}), // of which 99 are taken
		"C36 no space":            filled(1, 20, digits(1)),
		"a sequence that is none": filled(1, 2, generator.Config{Kind: generator.Sequence, Sequence: "missing", Format: "{n}"}),
	} {
		if _, err := ask(c); !alloc.Is(err, alloc.CodeInvalidConfig) {
			t.Errorf("%s: got %v", what, err)
		}
	}
}

// Whoever has a pool filled with the numbers of a sequence must be allowed to take them. A generator that is there may stay.
func TestWhoMaySaveAGeneratorOfASequence(t *testing.T) {
	manage := alloc.Scope{Action: alloc.ActionManage, Pattern: "team-*"}
	lease := alloc.Scope{Action: alloc.ActionLease, Pattern: "invoices"}
	p := newPlant(t, filled(1, 2, plain))
	manager, both := as(t.Context(), "manager", manage), as(t.Context(), "both", manage, lease)
	other := filled(1, 2, yearly)

	_, _, err := p.CreatePool(manager, "team-new", other)
	wantCode(t, err, alloc.CodeForbidden)
	_, err = p.ChangePool(manager, pool, 1, other)
	wantCode(t, err, alloc.CodeForbidden)
	_, err = p.PreviewGenerator(manager, alloc.PreviewRequest{Pool: "team-new", Config: other})
	wantCode(t, err, alloc.CodeForbidden)
	stays := filled(1, 2, plain)
	stays.Description = "bills"
	if _, err := p.ChangePool(manager, pool, 1, stays); err != nil {
		t.Errorf("with the generator that is there: %v", err)
	}

	for _, state := range []alloc.SequenceState{alloc.SequencePaused, alloc.SequenceActive, alloc.SequencePaused, alloc.SequenceDeleted} {
		must(t, p.model.SetSequenceState, alloc.SequenceName("invoices"), state)
		_, created, err := p.CreatePool(both, "team-new", other)
		switch {
		case state == alloc.SequenceActive && (err != nil || !created):
			t.Errorf("with both rights: created %t, %v", created, err)
		case p.has("team-new") && err != nil:
			t.Errorf("a repeat when the sequence is %s: %v", state, err)
		case !p.has("team-new"):
			wantCode(t, err, alloc.CodeInvalidConfig)
		}
		if state != alloc.SequenceActive {
			_, err = p.ChangePool(both, pool, 2, other)
			wantCode(t, err, alloc.CodeInvalidConfig)
		}
	}
	_, err = p.PreviewGenerator(both, alloc.PreviewRequest{Pool: pool, Config: other})
	wantCode(t, err, alloc.CodeInvalidConfig)
}

// has reports whether there is a pool of the name.
func (p *plant) has(name alloc.PoolName) bool {
	_, err := p.model.Pool(p.ctx, name)
	return err == nil
}

// What a generator of a sequence has before it decides, for a preview as for a pool: its next number, its limit and the format.
func TestAGeneratorThatCannotMakeItsTargetIsRefused(t *testing.T) {
	p := newPlant(t, filled(1, 2, uuids))
	p.createSequence("short", alloc.SequenceConfig{Limit: 50})
	p.createSequence("fresh", alloc.SequenceConfig{})
	of := func(target alloc.Count, sequence, format string) alloc.PoolConfig {
		return filled(1, target, generator.Config{Kind: generator.Sequence, Sequence: sequence, Format: format})
	}
	for i, c := range []struct {
		config alloc.PoolConfig
		space  string // "" for refused
	}{
		{of(50, "short", "S{n}"), "50"},
		{of(51, "short", "S{n}"), ""},
		{of(50, "short", "S{yyyy}-{n}"), "50"},
		{of(51, "short", "S{yyyy}-{n}"), ""},
		{of(99, "fresh", "{n:2}"), "99"},
		{of(100, "fresh", "{n:2}"), ""},
		{of(100, "fresh", "{n}"), "9223372036854775807"},
	} {
		name := alloc.PoolName(fmt.Sprintf("p%d", i))
		got, err := p.PreviewGenerator(p.ctx, alloc.PreviewRequest{Pool: name, Config: c.config})
		if got.Space != c.space || (err == nil) != (c.space != "") {
			t.Errorf("%d: the preview has the space %q, %v, want %q", i, got.Space, err, c.space)
		}
		if _, _, made := p.CreatePool(p.ctx, name, c.config); alloc.CodeOf(made) != alloc.CodeOf(err) {
			t.Errorf("%d: made with %v, previewed with %v", i, made, err)
		}
	}

	p.change(of(5, "fresh", "{yyyy}-{n}"))
	p.run()
	must(t, p.model.SetSequenceState, alloc.SequenceName("fresh."+p.clock.Now().Format("2006")), alloc.SequenceDeleted)
	if got, err := p.PreviewGenerator(p.ctx, alloc.PreviewRequest{Pool: pool, Config: of(5, "fresh", "{yyyy}-{n}")}); !alloc.Is(err, alloc.CodeInvalidConfig) {
		t.Errorf("of a period whose counter was deleted: %v, %v", got.Examples, err)
	}
}
