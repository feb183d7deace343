package admin

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/a-h/templ"

	"idpool/alloc"
	"idpool/templates"
	"idpool/web/admin/plan"
)

// inspect is the page of one ID.
func (d *dashboard) inspect(r *http.Request) (templ.Component, error) {
	pool, raw := alloc.PoolName(r.PathValue("pool")), r.URL.Query().Get("id")
	p := templates.IDPage{Frame: d.frame(r, "IDs of "+string(pool)), Pool: string(pool), Back: poolAddress(pool), Path: poolAddress(pool) + "/ids", Text: raw}
	if raw == "" {
		_, err := d.svc.Pool(r.Context(), pool)
		return templates.Inspect(p), err
	}
	rec, err := d.svc.InspectID(r.Context(), pool, raw)
	switch {
	case alloc.Is(err, alloc.CodeIDNotFound), alloc.Is(err, alloc.CodeInvalidID):
		p.Missing = failure(r, err, "").Message
		return templates.Inspect(p), nil
	case err != nil:
		return nil, err
	}
	p.State, p.Facts, p.Trail = idState(rec), idFacts(rec, d.now()), d.trailPart(r, aboutID(pool, rec.ID))
	if !d.readOnly && may(r, alloc.ActionOperate, string(pool)) {
		for _, s := range idSteps {
			if rec.Token != "" && rec.State.On(s.event).Effect == alloc.EffectMove {
				p.Buttons = append(p.Buttons, templates.Link{Text: s.button, Href: poolAddress(pool) + "/ids/" + string(s.event) + "?" + r.URL.RawQuery, Danger: s.danger})
			}
		}
	}
	return templates.Inspect(p), nil
}

func idState(rec alloc.IDRecord) templates.State {
	tone := templates.ToneGood
	switch rec.State {
	case alloc.StateHeld, alloc.StateReturning:
		tone = templates.ToneWarn
	case alloc.StateRetired:
		tone = templates.ToneOff
	}
	return templates.State{Tone: tone, Text: string(rec.State)}
}

// idFacts are all that is known of an ID, but for its token: who has that, owns it.
func idFacts(rec alloc.IDRecord, now time.Time) []templates.Fact {
	moment := func(t time.Time) templates.Time {
		if t.IsZero() {
			return templates.Time{}
		}
		return dated(t, now)
	}
	facts := []templates.Fact{
		{Term: "ID", Value: string(rec.ID), Mono: true},
		{Term: "Pool", Value: string(rec.Pool), Href: poolAddress(rec.Pool)},
		{Term: "Taken by", Value: string(rec.By)},
		{Term: "For", Value: rec.Owner},
		{Term: "Taken at", Time: moment(rec.At)},
		{Term: "Held until", Time: moment(rec.HeldUntil)},
		{Term: "Life", Value: fmt.Sprintf("%d", rec.Generation), Note: "how often it has been free"},
		{Term: "Came with", Value: string(rec.Job), Mono: true},
	}
	for _, k := range slices.Sorted(maps.Keys(rec.Metadata)) {
		facts = append(facts, templates.Fact{Term: k, Value: rec.Metadata[k], Note: "metadata"})
	}
	return facts
}

// idStep is what an operator can do with an ID in place of its owner.
type idStep struct {
	event  alloc.Event
	button string
	title  string
	done   string
	effect []string
	danger bool
}

var idSteps = []idStep{
	{event: alloc.EventRelease, button: "Release ID", title: "Release %s", done: "id-released", danger: true, effect: []string{
		"Whoever has it does not own it any more, and is not told.",
		"It comes back within a run of the schedule and is handed out to somebody else, unless the pool retires what is released.",
	}},
	{event: alloc.EventRetire, button: "Retire ID", title: "Retire %s", done: "id-retired", danger: true, effect: []string{
		"Nobody ever gets it again. This cannot be undone.",
		"Whoever has it does not own it any more, and is not told.",
	}},
}

// Names of what a plan has of an ID.
const (
	paramID         = "id"
	paramGeneration = "generation"
	paramToken      = "token"
	paramBy         = "by"
	paramState      = "state"
)

// idActions are the steps that can be taken with an ID.
func (d *dashboard) idActions() []action {
	var all []action
	for _, s := range idSteps {
		all = append(all, action{
			path: "/pools/{pool}/ids/" + string(s.event), verb: "pool." + string(s.event), need: alloc.ActionOperate,
			propose: func(r *http.Request) (proposal, error) { return d.proposeID(r, s) },
			carry: func(ctx context.Context, p plan.Plan, a asked, _ alloc.Attempt) (outcome, error) {
				generation, err := strconv.ParseInt(p.Params[paramGeneration], 10, 64)
				if err != nil {
					return outcome{}, alloc.Errorf(alloc.CodeInternal, "a plan cannot be read").Because(err)
				}
				was := alloc.IDRecord{
					Pool: alloc.PoolName(p.Name), ID: alloc.ID(p.Params[paramID]), Generation: alloc.Generation(generation), Token: alloc.Token(p.Params[paramToken]),
					By: alloc.ClientID(p.Params[paramBy]), State: alloc.State(p.Params[paramState]),
				}
				if _, err := d.svc.SettleFor(ctx, alloc.OperatorRequest{Was: was, Event: s.event, Why: a.reason}); err != nil {
					return outcome{}, err
				}
				return outcome{Location: idAddress(was.Pool, was.ID), Done: s.done}, nil
			},
		})
	}
	return all
}

func (d *dashboard) proposeID(r *http.Request, s idStep) (proposal, error) {
	rec, err := d.svc.InspectID(r.Context(), alloc.PoolName(r.PathValue("pool")), r.URL.Query().Get("id"))
	if err != nil {
		return proposal{}, err
	}
	if rec.Token == "" || rec.State.On(s.event).Effect != alloc.EffectMove {
		return proposal{}, alloc.Errorf(alloc.CodeNotOwner, "nobody has this ID now, so there is nothing to do in place of its owner")
	}
	text, err := body(members{{"id", string(rec.ID)}, {"generation", json.Number(strconv.FormatInt(int64(rec.Generation), 10))}, {"client", string(rec.By)}, {"why", "…"}})
	return proposal{
		name: string(rec.Pool), target: "pool/" + string(rec.Pool), danger: s.danger, typed: string(rec.ID), reason: true,
		params: map[string]string{
			paramID: string(rec.ID), paramGeneration: strconv.FormatInt(int64(rec.Generation), 10), paramToken: string(rec.Token),
			paramBy: string(rec.By), paramState: string(rec.State),
		},
		title: fmt.Sprintf(s.title, rec.ID), button: s.button, effect: s.effect, facts: append(idFacts(rec, d.now()), templates.Fact{Term: "State", Value: string(rec.State)}),
		back: idAddress(rec.Pool, rec.ID),
		twin: call{method: http.MethodPost, path: "/v1" + poolAddress(rec.Pool) + "/ids/" + string(s.event), keyed: true, body: text}.twin(),
	}, err
}
