package admin

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"idpool/alloc"
	"idpool/templates"
	"idpool/web/admin/plan"
)

var rebuildTerms = map[string]string{
	paramReported: "Highest number known elsewhere", paramMargin: "Margin", paramSince: "Restored to", paramStart: "First number", paramLimit: "Last number",
}

// proposeRebuild proposes the first plan of a rebuild, or another one beside the plan that is there, of the rebuild as the page shows it.
func (d *dashboard) proposeRebuild(r *http.Request) (proposal, error) {
	b, err := d.rebuildAtHand(r)
	if err != nil {
		return proposal{}, err
	}
	v := filled(r)
	p := proposal{
		name: string(b.Sequence), target: "sequence/" + string(b.Sequence), reason: true, back: withoutReview(r), params: seen(b),
		facts: []templates.Fact{{Term: "Sequence", Value: string(b.Sequence), Href: sequenceAddress(b.Sequence)}},
	}
	p.params[paramReplaces] = replaced(b)
	if b.Step.Ended() {
		evidence, _, _ := d.sequenceEvidence(r, b.Sequence)
		p.seen = &evidence
		p.title, p.button = "Freeze and plan: "+string(b.Sequence), "Freeze sequence and plan"
		p.effect = []string{
			"The sequence is frozen: nobody gets a number of it until the rebuild is applied and callers are let in, or until it is cancelled.",
			"Every source is read, and a plan is made. Nothing else is changed.",
		}
	} else {
		besidePlan(b, &p)
	}
	twin := rebuildAsked(v, b, &p)
	if p.params[paramReplaces] != "" {
		p.effect = append(p.effect, "The plan that was applied is replaced: callers that are served already get nothing more until the new one is applied.")
		p.danger, p.typed = true, string(b.Sequence)
		twin = append(twin, member{paramReplaces, p.params[paramReplaces]})
	}
	if err := v.readable(); err != nil {
		return proposal{}, err
	}
	p.twin, err = planTwin(b, p, twin)
	return p, err
}

// besidePlan says what stands already of a rebuild that is on.
func besidePlan(b alloc.Rebuild, p *proposal) {
	p.title, p.button = "Plan again: "+string(b.Sequence), "Plan again"
	p.effect = []string{"Every source is read once more, and another plan is made in the place of the one above. What is left empty stays as it was said before."}
	if b.Step == alloc.RebuildGathering {
		p.button = "Read on and plan"
		p.effect[0] = "The ledger is read on, and a plan is made. What is left empty stays as it was said before."
	}
	p.facts = append(p.facts, templates.Fact{Term: "Step", Value: string(b.Step), Note: "begun by " + string(b.By)})
	if b.Plan.ID != "" {
		p.facts = append(p.facts, planFacts(b)...)
	}
	if b.HasReported {
		p.facts = append(p.facts, templates.Fact{Term: "Reported before", Value: grouped(b.Reported), Mono: true, Note: "stays unless another number is said"})
	}
}

// rebuildAsked puts into a proposal what was filled in, and returns it as the API takes it.
func rebuildAsked(v *values, b alloc.Rebuild, p *proposal) (twin members) {
	for _, key := range []string{paramReported, paramMargin, paramStart, paramLimit} {
		if v.text(key) == "" {
			continue
		}
		n := rebuildNumber(v, key)
		p.params[key] = strconv.FormatInt(n, 10)
		fact := templates.Fact{Term: rebuildTerms[key], Value: grouped(n), Mono: true}
		switch key {
		case paramMargin:
			twin = append(twin, member{key, n})
		case paramReported:
			twin = append(twin, member{key, p.params[key]})
			fact.Note = reportedBeside(alloc.Number(n), b, p)
		}
		p.facts = append(p.facts, fact)
	}
	if t := v.moment(paramSince); !t.IsZero() {
		p.params[paramSince] = t.Format(time.RFC3339)
		p.facts = append(p.facts, templates.Fact{Term: rebuildTerms[paramSince], Value: p.params[paramSince]})
		twin = append(twin, member{paramSince, p.params[paramSince]})
	}
	if p.params[paramStart] != "" || p.params[paramLimit] != "" {
		twin = append(twin, member{"config", members{{paramStart, p.params[paramStart]}, {paramLimit, p.params[paramLimit]}}})
	}
	return twin
}

// reportedBeside says how a number that is reported is to the one of before. A lower one takes that back, which has to be typed for.
func reportedBeside(n alloc.Number, b alloc.Rebuild, p *proposal) (note string) {
	switch {
	case b.Step.Ended() || !b.HasReported || n == b.Reported:
		return ""
	case n > b.Reported:
		return "goes up, from " + grouped(b.Reported)
	}
	p.params[paramLowers] = "yes"
	p.danger, p.typed = true, string(b.Sequence)
	p.effect = append(p.effect, "What was reported before, "+grouped(b.Reported)+", is taken back: numbers up to there may be handed out, unless another source says that they are used. Be sure that it was wrong.")
	return "goes down, from " + grouped(b.Reported)
}

// planTwin is the same by the API, where a number is taken back before a lower one is said.
func planTwin(b alloc.Rebuild, p proposal, m members) (templates.Call, error) {
	bodies := []members{append(m, member{"why", "…"})}
	if p.params[paramLowers] != "" {
		back := members{{paramReported, json.RawMessage("null")}, {paramReplaces, p.params[paramReplaces]}, {"why", "…"}}
		bodies = append([]members{back}, bodies...)
	}
	var lines []string
	for _, m := range bodies {
		text, err := body(m)
		if err != nil {
			return templates.Call{}, err
		}
		lines = append(lines, call{method: http.MethodPost, path: "/v1" + rebuildAddress(b.Sequence), keyed: true, body: text}.twin().Text)
	}
	return templates.Call{Text: strings.Join(lines, "\n")}, nil
}

func (d *dashboard) carryPlan(ctx context.Context, p plan.Plan, a asked) error {
	r := alloc.RebuildRequest{Sequence: alloc.SequenceName(p.Name), Why: a.reason, Margin: alloc.Count(numberOf(p.Params[paramMargin])), Replaces: p.Params[paramReplaces]}
	if text := p.Params[paramReported]; text != "" {
		r.Reported, r.HasReported, r.NoReported = alloc.Number(numberOf(text)), true, p.Params[paramLowers] != ""
	}
	if text := p.Params[paramSince]; text != "" {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return alloc.Errorf(alloc.CodeInternal, "a plan cannot be read").Because(err)
		}
		r.Since = at
	}
	if start, limit := p.Params[paramStart], p.Params[paramLimit]; start != "" || limit != "" {
		r.Config = alloc.SequenceConfig{Start: alloc.Number(numberOf(start)), StartAtZero: start == "0", Limit: alloc.Number(numberOf(limit))}.WithDefaults()
	}
	_, err := d.svc.PlanRebuild(ctx, r, seenOf(p))
	return err
}
