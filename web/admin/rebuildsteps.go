package admin

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"strconv"

	"idpool/alloc"
	"idpool/templates"
	"idpool/web/admin/plan"
)

// Names of what a plan of a page has of a rebuild.
const (
	paramReported = "reported"
	paramMargin   = "margin"
	paramSince    = "since"
	paramStart    = "start"
	paramLimit    = "limit"
	paramReplaces = "replaces"
	paramPlan     = "plan"
	paramRebuild  = "rebuild"
	paramBefore   = "before" // what was reported for it
	paramShare    = "share"
	paramExhausts = "exhausts"
	paramLowers   = "lowers" // what was reported before is taken back, for a lower number
)

// rebuildActions are the steps of a sequence's rebuild.
func (d *dashboard) rebuildActions() []action {
	step := func(segment string, ask func(*http.Request) (templates.Form, error), propose func(*http.Request) (proposal, error),
		do func(context.Context, plan.Plan, asked) error,
	) action {
		return action{
			path: "/sequences/{sequence}/rebuild/" + segment, verb: "sequence.rebuild-" + segment, need: alloc.ActionManage, ask: ask, propose: propose,
			carry: func(ctx context.Context, p plan.Plan, a asked, _ alloc.Attempt) (outcome, error) {
				return outcome{Location: rebuildAddress(alloc.SequenceName(p.Name)), Done: "rebuild-" + segment}, do(ctx, p, a)
			},
		}
	}
	return []action{
		step("plan", d.askRebuild, d.proposeRebuild, d.carryPlan),
		step("apply", nil, d.proposeApply, func(ctx context.Context, p plan.Plan, _ asked) error {
			_, err := d.svc.ApplyRebuild(ctx, alloc.RebuildApproval{Sequence: alloc.SequenceName(p.Name), Plan: p.Params[paramPlan], Exhausts: p.Params[paramExhausts] != ""})
			return err
		}),
		step("resume", d.askResume, d.proposeResume, func(ctx context.Context, p plan.Plan, _ asked) error {
			share, err := strconv.Atoi(p.Params[paramShare])
			if err != nil {
				return alloc.Errorf(alloc.CodeInternal, "a plan cannot be read").Because(err)
			}
			_, err = d.svc.ResumeRebuild(ctx, alloc.SequenceName(p.Name), share, seenOf(p))
			return err
		}),
		step("cancel", nil, d.proposeCancelRebuild, func(ctx context.Context, p plan.Plan, _ asked) error {
			_, err := d.svc.CancelRebuild(ctx, alloc.SequenceName(p.Name), seenOf(p))
			return err
		}),
	}
}

// rebuildAtHand is the last rebuild of the page's sequence; one without a step where there never was one.
func (d *dashboard) rebuildAtHand(r *http.Request) (alloc.Rebuild, error) {
	name := alloc.SequenceName(r.PathValue("sequence"))
	b, err := d.svc.Rebuild(r.Context(), name)
	if alloc.Is(err, alloc.CodeRebuildStep) {
		return alloc.Rebuild{Sequence: name}, nil
	}
	return b, err
}

// seen is what a plan of a page has of the rebuild that the page has shown: the step is of that one, with that plan, and of no other.
func seen(b alloc.Rebuild) map[string]string {
	s := b.Seen()
	params := map[string]string{paramRebuild: string(s.ID), paramPlan: s.Plan}
	if s.HasReported {
		params[paramBefore] = strconv.FormatUint(uint64(s.Reported), 10)
	}
	return params
}

// seenOf reads what seen has written.
func seenOf(p plan.Plan) alloc.RebuildSeen {
	s := alloc.RebuildSeen{ID: alloc.JobID(p.Params[paramRebuild]), Plan: p.Params[paramPlan]}
	if n, err := strconv.ParseUint(p.Params[paramBefore], 10, 64); err == nil {
		s.Reported, s.HasReported = alloc.Number(n), true
	}
	return s
}

// replaced is the plan that a new one replaces; "" for none.
func replaced(b alloc.Rebuild) string {
	switch b.Step {
	case alloc.RebuildApplied, alloc.RebuildVerified, alloc.RebuildResuming:
		return b.Plan.ID
	}
	return ""
}

// usualMargin is the margin of a plan for which none is said: that of the one that it goes on with, or replaces.
func usualMargin(b alloc.Rebuild) alloc.Count {
	if b.Step == alloc.RebuildGathering || b.Step == alloc.RebuildPlanned || replaced(b) != "" {
		return b.Margin
	}
	return alloc.DefaultMargin
}

func (d *dashboard) askRebuild(r *http.Request) (templates.Form, error) {
	b, err := d.rebuildAtHand(r)
	if err != nil {
		return templates.Form{}, err
	}
	f := templates.Form{
		Title: "Plan the rebuild of " + string(b.Sequence), Button: "Review", Back: rebuildAddress(b.Sequence),
		Intro: "The counter, the ledger, the high-water mark and the samples are read in any case. What is said here comes beside them: the plan stands above all of it.",
		Groups: []templates.FieldGroup{
			{Fields: []templates.Field{
				numberField(paramReported, "Highest number known elsewhere", "", "By a billing system, a printed list, a customer. What was said before stays where this is empty."),
				numberField(paramMargin, "Margin", "", fmt.Sprintf("Numbers that are left out above the highest one known; %s where this is empty.", grouped(usualMargin(b)))),
				textField(paramSince, "Restored to, UTC", "", "After a restore from a backup: to which time. What was leased since is estimated, doubled, and left out."),
			}},
			{Title: "Where its configuration is lost too", Hint: "Leave it empty if you are not asked for it.", Fields: []templates.Field{
				numberField(paramStart, "First number", "", ""), numberField(paramLimit, "Last number", "", ""),
			}},
		},
	}
	v := filled(r)
	for _, key := range []string{paramReported, paramMargin, paramStart, paramLimit} {
		rebuildNumber(v, key)
	}
	v.moment(paramSince)
	return v.show(f), nil
}

// rebuildNumber reads a number of the form. To the service 0 is no margin, and no limit, but says that none is given: what would be planned then
// is not what was confirmed.
func rebuildNumber(v *values, key string) int64 {
	switch key {
	case paramMargin:
		return v.numberFrom1(key, int64(alloc.MaxMargin))
	case paramLimit:
		return v.numberFrom1(key, math.MaxInt64)
	}
	return v.number(key, 0)
}

func (d *dashboard) proposeApply(r *http.Request) (proposal, error) {
	b, err := d.rebuildAtHand(r)
	if err != nil {
		return proposal{}, err
	}
	if b.Plan.ID == "" || b.Step != alloc.RebuildPlanned && b.Step != alloc.RebuildApplied {
		return proposal{}, alloc.Errorf(alloc.CodeRebuildStep, "there is no plan to be applied; look at the rebuild of the sequence %q, and make one", b.Sequence)
	}
	p := proposal{
		name: string(b.Sequence), target: "sequence/" + string(b.Sequence), danger: true, typed: string(b.Sequence), reason: true,
		title: "Apply the plan: " + string(b.Sequence), button: "Apply plan", back: rebuildAddress(b.Sequence), facts: planFacts(b),
		params: seen(b),
		effect: append(b.Warnings(),
			"The counter is put where the plan says, in a new epoch. Nothing is done if it has changed since the plan was made.",
			"Then test numbers are leased and held against every lease there is. Nobody else is served before you say so."),
	}
	twin := members{{paramPlan, b.Plan.ID}, {"confirm", string(b.Sequence)}}
	if b.Exhausts() {
		p.params[paramExhausts] = "yes"
		twin = append(twin, member{paramExhausts, true})
	}
	text, err := body(twin)
	p.twin = call{method: http.MethodPost, path: "/v1" + rebuildAddress(b.Sequence) + "/apply", keyed: true, body: text}.twin()
	return p, err
}

func (d *dashboard) askResume(r *http.Request) (templates.Form, error) {
	b, err := d.rebuildAtHand(r)
	if err != nil {
		return templates.Form{}, err
	}
	v := filled(r)
	if n := v.number(paramShare, 0); v.sent && (n < 1 || n > 100) {
		v.problems[paramShare] = "This is a whole number from 1 to 100."
	}
	return v.show(templates.Form{
		Title: "Serve callers of " + string(b.Sequence), Button: "Review", Back: rebuildAddress(b.Sequence),
		Groups: []templates.FieldGroup{{Fields: []templates.Field{
			numberField(paramShare, "Percent of the callers", strconv.Itoa(max(b.Share, b.Config.ResumeShare)), "It is never made fewer than are served already. 100 serves all, and ends the rebuild."),
		}}},
	}), nil
}

func (d *dashboard) proposeResume(r *http.Request) (proposal, error) {
	b, err := d.rebuildAtHand(r)
	if err != nil {
		return proposal{}, err
	}
	if b.Step != alloc.RebuildVerified && b.Step != alloc.RebuildResuming {
		return proposal{}, alloc.Errorf(alloc.CodeRebuildStep, "nobody can be let in at this step of the rebuild of %q; look at it first", b.Sequence)
	}
	share := filled(r).number(paramShare, 0)
	p := proposal{
		name: string(b.Sequence), target: "sequence/" + string(b.Sequence), title: "Serve callers of " + string(b.Sequence), button: fmt.Sprintf("Serve %d %%", share), back: withoutReview(r),
		params: seen(b), facts: planFacts(b),
		effect: []string{fmt.Sprintf("%d %% of the callers are served, by their names: always the same ones. The others are told to come again.", share)},
	}
	p.params[paramShare] = strconv.FormatInt(share, 10)
	if share == 100 {
		p.effect = []string{"All callers are served, and the rebuild is over.", "A sequence that was paused before it was rebuilt is paused again."}
	}
	text, err := body(members{{paramShare, share}})
	p.twin = call{method: http.MethodPost, path: "/v1" + rebuildAddress(b.Sequence) + "/resume", keyed: true, body: text}.twin()
	return p, err
}

func (d *dashboard) proposeCancelRebuild(r *http.Request) (proposal, error) {
	b, err := d.rebuildAtHand(r)
	if err != nil {
		return proposal{}, err
	}
	if b.Step != alloc.RebuildGathering && b.Step != alloc.RebuildPlanned {
		return proposal{}, alloc.Errorf(alloc.CodeRebuildStep, "there is nothing to cancel: the rebuild of %q was applied, or there is none", b.Sequence)
	}
	return proposal{
		name: string(b.Sequence), target: "sequence/" + string(b.Sequence), title: "Cancel the rebuild of " + string(b.Sequence), button: "Cancel rebuild", back: rebuildAddress(b.Sequence),
		params: seen(b),
		facts:  []templates.Fact{{Term: "Sequence", Value: string(b.Sequence)}, {Term: "Begun by", Value: string(b.By)}, {Term: "Was before", Value: string(b.Was)}},
		effect: []string{"The sequence is as it was before it was frozen: " + string(b.Was) + ".", "The plan is dropped."},
		twin:   call{method: http.MethodPost, path: "/v1" + rebuildAddress(b.Sequence) + "/cancel", keyed: true}.twin(),
	}, nil
}
