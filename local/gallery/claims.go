package gallery

import (
	"strconv"

	"github.com/a-h/templ"

	"idpool/templates"
)

func claimed(s sample) templ.Component {
	name := s.name("voucher-spring", 1)
	return templates.Claimed(templates.ClaimedPage{
		Frame: s.frame("An ID of " + name), Pool: name, Back: Prefix, ID: s.id(1), State: of(0, tones...), Facts: s.facts(),
		Buttons: append([]templates.Link{{Text: "Inspect ID", Href: Prefix}}, s.buttons("Claim another ID")...),
		Twin:    templates.Call{Text: "curl -X POST \"$IDPOOL/v1/pools/" + name + "/claims\" \\\n  -H \"Authorization: Bearer $TOKEN\""},
	})
}

func (s sample) recent() templates.RecentPanel {
	return templates.RecentPanel{Failure: s.failure(), Rows: rows(s, func(n int) templates.RecentRow {
		return templates.RecentRow{
			ID: s.id(n), Href: Prefix, By: s.name("shop-eu", n), Owner: of(n, s.text("order 12"), ""), At: at("13:55:0" + strconv.Itoa(n)), State: of(n, tones...),
		}
	})}
}

func (s sample) trailPart() templates.TrailPart {
	return templates.TrailPart{All: Prefix, Note: "looked for among the last 200 records", Rows: rows(s, s.trailRow), Failure: s.failure()}
}

func told(s sample) templ.Component {
	return templates.Told(templates.ToldPage{
		Frame: s.frame("4 of 6 pools paused"), Next: templates.Link{Text: "Go to the pools", Href: Prefix},
		Rows: rows(s, func(n int) templates.ToldRow {
			row := templates.ToldRow{Name: s.name("voucher-spring", n), Href: Prefix, State: templates.State{Tone: templates.ToneGood, Text: "paused"}}
			if n%3 == 1 {
				row.State, row.Why = templates.State{Tone: templates.ToneWarn, Text: "left as it is"}, "It was changed since the plan was made; look at it, and make a new plan."
			}
			return row
		}),
	})
}
