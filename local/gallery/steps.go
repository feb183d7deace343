package gallery

import (
	"strconv"

	"github.com/a-h/templ"

	"idpool/templates"
)

// marks are the steps of a procedure, with the one that it is at.
func marks(now int, steps ...string) []templates.StepMark {
	var all []templates.StepMark
	for n, text := range steps {
		m := templates.StepMark{Text: text}
		switch {
		case n < now:
			m.Is = "done"
		case n == now:
			m.Is = "now"
		}
		all = append(all, m)
	}
	return all
}

var seedSteps = []string{"Source", "Check", "Confirm", "Seed"}

func seed(s sample) templ.Component {
	name := s.name("voucher-spring", 1)
	p := templates.SeedPage{
		Frame: s.frame("Seed " + name), Pool: templates.Link{Text: name, Href: Prefix}, Path: Prefix, Plan: "sealed", Steps: marks(0, seedSteps...), Most: "4", MostMade: "100,000", Many: "10,000", Generator: "SPRING-12 random characters",
		Twin: templates.Call{Text: "curl -X POST \"$IDPOOL/v1/pools/" + name + "/seed\" \\\n  -H \"Authorization: Bearer $TOKEN\""},
	}
	if s.state == Error {
		p.Problem = "There is a file and a text: send one of them."
	}
	return templates.Seed(p)
}

func check(s sample) templ.Component {
	name := s.name("voucher-spring", 1)
	p := templates.CheckPage{
		Frame: s.live("Seed " + name), Pool: templates.Link{Text: name, Href: Prefix}, Steps: marks(1, seedSteps...), Total: s.count("12,000") + " entries",
		Job: Prefix, Self: Prefix, Row: s.jobRow(0), Checked: true, Done: true, Ended: true, Results: templates.Results{Files: []templates.Link{{Text: "The whole of it", Href: Prefix}}}, Buttons: s.buttons("Confirm seeding", "Drop file"),
	}
	switch s.state {
	case Empty:
		p.Done, p.Ended, p.Buttons = false, false, s.buttons("Drop file")
		return templates.Check(p)
	case One:
		p.Started, p.Steps = true, marks(3, seedSteps...)
	case Error:
		p.Row, p.Done, p.Buttons, p.Failure = s.jobRow(1), false, nil, s.failure()
	}
	p.New, p.Last, p.Said = []string{s.id(100), s.id(101)}, s.id(102), []string{"Part 1: 3 lines look like a range of numbers."}
	p.Tally = []templates.Fact{{Term: "To be added", Value: s.count("11,940")}, {Term: "Duplicate", Value: "40"}, {Term: "Invalid", Value: "20"}}
	p.First = rows(s, func(n int) []string {
		return []string{strconv.Itoa(n + 1), s.id(n), of(n, "duplicate", "invalid"), s.text("it is in the pool already")}
	})
	return templates.Check(p)
}
