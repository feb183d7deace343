package admin

import (
	"context"
	"encoding/json"
	"net/http"

	"idpool/alloc"
	"idpool/templates"
	"idpool/web/admin/plan"
)

// Names of what a form and a plan have of a configuration that is lost.
const (
	paramPolicy = "policy"
	paramFold   = "fold_case"
	paramLast   = "last" // the last rebuild of the pool when the page was made
)

// poolRebuild rebuilds a pool. Where its configuration is lost, without a copy, it asks for what was fixed when the pool was made.
var poolRebuild = jobStep{
	on: "pool", segment: "rebuild", need: alloc.ActionManage, button: "Rebuild pool", title: "Rebuild the pool %s", danger: true,
	effect: []string{
		"What lists the free IDs is made anew of the IDs themselves, which are read one by one.",
		"Claims are answered out of what environments have in memory, and else with pool_rebuilding, until it is done. It can be asked for again at any time.",
		"No ID that somebody has comes back by it.",
	},
	seen: func(d *dashboard, r *http.Request, name string) *templates.EvidencePanel {
		return d.poolEvidence(r, alloc.PoolName(name))
	},
	intro: "The configuration of this pool is lost, and there is no copy of it. These two are fixed when a pool is made and cannot be changed afterwards, so say them as they were: " +
		"the record pool.create in the trail has them. Said wrongly, an ID can be handed out twice.",
	asks: func(d *dashboard, r *http.Request, name string) (bool, error) {
		e, err := d.svc.PoolEvidence(r.Context(), alloc.PoolName(name))
		return !e.Configured, err
	},
	fields: []templates.Field{
		lostField(paramPolicy, "A claimed ID",
			"If the pool kept them and you say forgotten, IDs are handed out twice: claimed ones that somebody adds again, and those whose records are lost. "+
				"If it forgot them and you say kept, nothing is handed out twice, but IDs that are to come again are refused as duplicates. If nothing tells you, say kept.",
			[2]string{string(alloc.PolicyKeep), "is kept, so that it can never be added again"}, [2]string{string(alloc.PolicyForget), "is forgotten; who adds it again, hands it out again"}),
		lostField(paramFold, "Upper and lower case",
			"If the pool has ever handed out an ID with a capital letter, they differ. If they differ and you say the same, such an ID is not found any more, and can be added again in lower case. "+
				"If they are the same and you say that they differ, ABC can be added beside abc. Either way both are handed out.",
			[2]string{"false", "differ: an ID stays as it is"}, [2]string{"true", "are the same: an ID is brought to lower case"}),
	},
	params: []string{paramPolicy, paramFold},
	check:  checkLost,
	said: func(p map[string]string) ([]templates.Fact, []string) {
		c := alloc.PoolConfig{Policy: alloc.Policy(p[paramPolicy]), FoldCase: p[paramFold] == "true"}
		return fixedFacts(c), []string{
			"The pool gets this policy and this treatment of case, for good. All else of its configuration is as of a new pool, without a generator, and can be edited when the rebuild is done.",
		}
	},
	last: (*dashboard).lastPoolRebuild,
	make: func(d *dashboard, ctx context.Context, p plan.Plan, why string, intent alloc.Token) (alloc.Job, error) {
		last, err := d.lastPoolRebuild(ctx, p.Name)
		own := intent != "" && (last == string(intent) || last == string(intent)+ended) // an attempt before has begun it
		if err == nil && !own && last != p.Params[paramLast] {
			err = alloc.Errorf(alloc.CodePlanChanged, "a rebuild of this pool was begun, or has ended, since this page was made; look at the pool, and make a new plan if it needs another; nothing was begun by this")
		}
		if err != nil {
			return alloc.Job{}, err
		}
		r := alloc.PoolRebuildRequest{Pool: alloc.PoolName(p.Name), Why: why, Intent: intent, Policy: alloc.Policy(p.Params[paramPolicy])}
		if text := p.Params[paramFold]; text != "" {
			fold := text == "true"
			r.FoldCase = &fold
		}
		return d.svc.RebuildPool(ctx, r)
	},
	twin: func(p map[string]string, name string) (string, members) {
		b := members{{"confirm", name}, {"why", "…"}, {paramPolicy, p[paramPolicy]}}
		if text := p[paramFold]; text != "" {
			b = append(b, member{paramFold, json.RawMessage(text)}) // false is said as well
		}
		return "/v1" + poolAddress(alloc.PoolName(name)) + "/rebuild", b
	},
}

// lostField asks for one of two things of which neither is usual.
func lostField(name, label, hint string, options ...[2]string) templates.Field {
	f := choice(name, label, hint, "", append([][2]string{{"", "choose one"}}, options...)...)
	f.Required = true
	return f
}

// checkLost refuses a form in which something is left open, or is none of the options.
func checkLost(v *values) {
	if !v.sent {
		return
	}
	switch alloc.Policy(v.text(paramPolicy)) {
	case alloc.PolicyKeep, alloc.PolicyForget:
	default:
		v.problems[paramPolicy] = "Say which: nothing else tells it."
	}
	if fold := v.text(paramFold); fold != "true" && fold != "false" {
		v.problems[paramFold] = "Say which: nothing else tells it."
	}
}

// fixedFacts are what is fixed of a configuration, each with what it means.
func fixedFacts(c alloc.PoolConfig) []templates.Fact {
	return []templates.Fact{
		{Term: "Policy", Value: string(c.Policy), Note: map[alloc.Policy]string{alloc.PolicyKeep: "a claimed ID is kept", alloc.PolicyForget: "a claimed ID is removed"}[c.Policy]},
		{Term: "Case", Value: caseWords(c.FoldCase), Note: map[bool]string{true: "ABC and abc are one ID", false: "ABC and abc are two IDs"}[c.FoldCase]},
	}
}

// ended follows a job that has ended, in what lastPoolRebuild says.
const ended = " ended"

// lastPoolRebuild is the last rebuild of a pool among the newest jobs, and whether it has ended; "" for none.
func (d *dashboard) lastPoolRebuild(ctx context.Context, name string) (string, error) {
	jobs, _, err := d.svc.Jobs(ctx, "", auditsBack)
	for _, j := range jobs {
		if j.Kind == alloc.JobRebuild && string(j.Pool) == name {
			if j.State.Ended() {
				return string(j.ID) + ended, err
			}
			return string(j.ID), err
		}
	}
	return "", err
}
