package admin

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/generator"
)

func TestAReviewShowsWhatTheGeneratorMakes(t *testing.T) {
	s := newSystem(t, nil, root)
	s.fill(1)
	example := regexp.MustCompile(`Example \d(?:</bdi>)?</dt>\s*<dd class="id">\s*(?:<bdi>)?\s*([^<\s]+)`)
	for path, want := range map[string][]string{
		"/new/pool?review=1&name=codes&kind=random&length=12&prefix=P-&low=10&target=1000":                                {"none of the examples is reserved", "That fills the target", "the target is 1,000"},
		"/new/pool?review=1&name=bills&kind=sequence&sequence=sequence-000&format=B-%7Bn%3A4%7D&low=10&target=100":        {"B-1501", "500 IDs", "5 times"},
		"/new/pool?review=1&name=times&kind=ulid&low=10&target=1000":                                                      {"more than anybody can use"},
		"/new/pool?review=1&name=vast&kind=random&length=32&low=10&target=1000":                                           {"× 10^", "more than 2,147,483,647 times"},
		"/pools/pool-000/edit?review=1&description=x&max_batch=7&on_release=return&kind=random&length=12&low=1&target=20": {"none of the examples is reserved"},
	} {
		page := s.page(path)
		for _, text := range want {
			if !strings.Contains(page, text) {
				t.Errorf("%s lacks %q:\n%s", path, text, page)
			}
		}
		if found := example.FindAllStringSubmatch(page, -1); len(found) != 5 || found[0][1] == found[1][1] {
			t.Errorf("%s shows the examples %v, want five:\n%s", path, found, page)
		}
	}
	if page := s.page("/new/pool?review=1&name=plain"); strings.Contains(page, "Example") {
		t.Error("a pool without a generator has examples")
	}
	if page := s.page("/new/pool?review=1&name=bills&kind=sequence&sequence=nothing&format=B-%7Bn%3A4%7D&low=10&target=100"); !strings.Contains(page, `role="alert"`) {
		t.Errorf("a generator of a sequence that is not there is reviewed:\n%s", page)
	}
}

// A generator that stays may have come to its end: that is no reason to refuse another change.
func TestAGeneratorThatCannotMakeMoreCanBeEditedAround(t *testing.T) {
	s := newSystem(t, nil, root)
	s.fill(1)
	ctx := alloc.WithCaller(t.Context(), root)
	c := alloc.PoolConfig{Generator: generator.Config{Kind: generator.Sequence, Sequence: "sequence-000", Format: "B-{n:4}"}, Marks: alloc.Marks{Low: 1, Target: 5}}
	if _, _, err := s.svc.CreatePool(ctx, "bills", c); err != nil {
		t.Fatal(err)
	}
	if _, err := s.svc.SetSequenceState(ctx, "sequence-000", 0, alloc.SequencePaused); err != nil {
		t.Fatal(err)
	}
	page := s.page("/pools/bills/edit?review=1&description=another&max_batch=100&on_release=return&kind=sequence&sequence=sequence-000&format=B-%7Bn%3A4%7D&low=1&target=5")
	if !strings.Contains(page, `name="plan"`) || !strings.Contains(page, "cannot be made now") {
		t.Errorf("the change is not reviewed:\n%s", page)
	}
}

func TestLongNumbersCanBeRead(t *testing.T) {
	for digits, want := range map[string]string{"7": "7", "1234567": "1,234,567", "123456789012345678901234": "about 1.2 × 10^23"} {
		if got := spaceWords(digits); got != want {
			t.Errorf("%s: got %s, want %s", digits, got, want)
		}
	}
	for n, want := range map[float64]string{0.5: "not even once", 1: "once", 1e30: "more than 2,147,483,647 times"} {
		if got := times(n); got != want {
			t.Errorf("%g: got %s, want %s", n, got, want)
		}
	}
	if got := hours(1e30); got != "more than 100 years" {
		t.Error(got)
	}
	if got := hours(48); got != duration(48*time.Hour) {
		t.Error(got)
	}
}
