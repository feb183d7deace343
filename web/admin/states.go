package admin

import (
	"fmt"
	"net/http"
	"slices"

	"idpool/alloc"
	"idpool/templates"
)

// createButton leads to the page that makes a pool or a sequence.
func (d *dashboard) createButton(r *http.Request, what string) []templates.Link {
	if d.readOnly || !may(r, alloc.ActionManage, "*") {
		return nil
	}
	return []templates.Link{{Text: "Create " + what, Href: "/new/" + what, Main: true}}
}

// graveLast puts the steps that destroy behind the others, so that no hand comes to them on its way.
func graveLast(buttons []templates.Link) []templates.Link {
	slices.SortStableFunc(buttons, func(a, b templates.Link) int {
		switch {
		case a.Danger == b.Danger:
			return 0
		case b.Danger:
			return -1
		default:
			return 1
		}
	})
	return buttons
}

// mendFirst puts before all other steps the one at the address, which alone mends what serves nobody.
func mendFirst(buttons []templates.Link, href string) []templates.Link {
	i := slices.IndexFunc(buttons, func(b templates.Link) bool { return b.Href == href })
	if i < 0 {
		return buttons
	}
	mend := buttons[i]
	mend.Main, mend.Danger = true, false
	return append([]templates.Link{mend}, slices.Delete(buttons, i, i+1)...)
}

// first is the refusal of a step before which others come, with the ways to those that whoever asks may take.
func first[S ~string](r *http.Request, err error, name, address string, steps []stateStep[S], segments ...string) error {
	e := refusal{error: err}
	for _, s := range steps {
		if slices.Contains(segments, s.segment) && may(r, s.need, name) {
			e.next = append(e.next, templates.Link{Text: s.button, Href: address + "/" + s.segment})
		}
	}
	return e
}

// stateStep is a step that sets the state of a pool or of a sequence.
type stateStep[S ~string] struct {
	segment string // of the path: "pause"
	to      S
	need    alloc.Action
	button  string
	title   string // with the name
	done    string // word of said
	effect  []string
	danger  bool
	method  string // of the API's twin
}

// propose fills in what the step says of the one at the page's address, which the API has at path.
func (s stateStep[S]) propose(name, path string, version alloc.Version, p proposal) proposal {
	if s.method == http.MethodPost {
		path += "/" + s.segment
	}
	p.name, p.version, p.danger, p.reason = name, version, s.danger, s.danger
	p.title, p.button, p.effect = fmt.Sprintf(s.title, name), s.button, s.effect
	p.twin = call{method: s.method, path: path, version: version, keyed: true}.twin()
	if s.danger {
		p.typed = name
	}
	return p
}
