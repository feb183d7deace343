package admin

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"idpool/alloc"
	"idpool/templates"
)

// previewFacts are what a page of confirmation says of a pool's generator: some IDs that it would make, how many there can be, and how long
// these last. was is the configuration that the pool has; the zero one for a new pool. What is wrong with a generator that is to be another is an error; one
// that stays may not work at the moment, and is left.
func (d *dashboard) previewFacts(r *http.Request, name alloc.PoolName, c, was alloc.PoolConfig) ([]templates.Fact, error) {
	if c.Generator.IsZero() {
		return nil, nil
	}
	p, err := d.svc.PreviewGenerator(r.Context(), alloc.PreviewRequest{Pool: name, Config: c})
	switch {
	case err != nil && c.Generator == was.Generator:
		return []templates.Fact{{Term: "Examples", Value: "cannot be made now", Note: failure(r, err, "").Message}}, nil
	case err != nil:
		return nil, err
	}
	var facts []templates.Fact
	for i, text := range p.Examples {
		f := templates.Fact{Term: "Example " + strconv.Itoa(i+1), Value: text, Mono: true}
		if i == 0 {
			f.Note = "made for this page: none of the examples is reserved, and the pool may get others"
		}
		facts = append(facts, f)
	}
	if p.Space == "" {
		return append(facts, templates.Fact{Term: "Can make", Value: "more than anybody can use", Note: "the time is part of each"}), nil
	}
	facts = append(facts, templates.Fact{Term: "Can make", Value: spaceWords(p.Space) + " IDs"})
	space, err := strconv.ParseFloat(p.Space, 64)
	if err != nil {
		return nil, alloc.Errorf(alloc.CodeInternal, "the space of a generator cannot be read").Because(err)
	}
	if p.Target > 0 {
		facts = append(facts, templates.Fact{Term: "That fills the target", Value: times(space / float64(p.Target)), Note: "the target is " + grouped(p.Target)})
	}
	if perHour := d.fastest(r.Context(), name, was); perHour > 0 {
		facts = append(facts, templates.Fact{Term: "That lasts", Value: hours(space / perHour), Note: "at " + rate(perHour) + " an hour, the highest use of the last day"})
	}
	return facts, nil
}

// fastest is the highest rate at which a pool is used; 0 where none is known, or it is not there yet.
func (d *dashboard) fastest(ctx context.Context, name alloc.PoolName, was alloc.PoolConfig) (perHour float64) {
	if was.Policy == "" {
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, panelTimeout)
	defer cancel()
	f, err := d.svc.PoolForecast(ctx, name)
	if err != nil {
		return 0 // the page says nothing of it
	}
	for _, b := range f.Burns {
		perHour = max(perHour, b.PerHour)
	}
	return perHour
}

// spaceWords is a whole number of any length, so that people can read it.
func spaceWords(digits string) string {
	if n, err := strconv.ParseInt(digits, 10, 64); err == nil {
		return grouped(n)
	}
	return fmt.Sprintf("about %c.%c × 10^%d", digits[0], digits[1], len(digits)-1)
}

// times is how often something can be done.
func times(n float64) string {
	switch {
	case n < 1:
		return "not even once"
	case n < 2:
		return "once"
	case n < math.MaxInt32:
		return grouped(int64(n)) + " times"
	}
	return "more than " + grouped(int64(math.MaxInt32)) + " times"
}

// hours is a length of time of so many hours.
func hours(n float64) string {
	if n > alloc.MaxForecast.Hours() {
		return "more than 100 years"
	}
	return duration(time.Duration(n * float64(time.Hour)))
}
