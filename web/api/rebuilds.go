package api

import (
	"context"
	"net/http"
	"time"

	"idpool/alloc"
)

// rebuildBody asks for the plan of a sequence's rebuild. What is left out stays as it was said before, and null takes it back.
type rebuildBody struct {
	Why        string         `json:"why"`
	Reported   *numberText    `json:"reported"` // nil for left out, or null
	NoReported bool           `json:"no_reported"`
	Margin     alloc.Count    `json:"margin"` // 0 for left out
	Since      time.Time      `json:"since"`  // zero for left out, or null
	NoSince    bool           `json:"no_since"`
	Config     *rebuiltConfig `json:"config"` // nil for none
	Replaces   string         `json:"replaces"`
}

func (b *rebuildBody) fields() []field {
	return []field{
		text("why", &b.Why),
		orNull(number("reported", func(n alloc.Number) error {
			b.Reported = &numberText{n}
			return nil
		}), func() { b.NoReported = true }),
		orNull(bounded("margin", 1, alloc.MaxMargin, &b.Margin), func() { b.Margin = alloc.DefaultMargin }),
		orNull(moment("since", &b.Since), func() { b.NoSince = true }),
		object("config", &b.Config),
		text("replaces", &b.Replaces),
	}
}

// rebuiltConfig is the configuration of a sequence whose own is lost.
type rebuiltConfig struct{ Config alloc.SequenceConfig }

func (b *rebuiltConfig) fields() []field { return sequenceFields("config.", &b.Config) }

// planRebuild freezes the sequence and makes the plan.
func (a api) planRebuild(ctx context.Context, q request, b rebuildBody) (answer, error) {
	r := alloc.RebuildRequest{
		Sequence: q.sequence(), Why: b.Why, NoReported: b.NoReported, Margin: b.Margin, Since: b.Since, NoSince: b.NoSince, Replaces: b.Replaces,
	}
	if b.Reported != nil {
		r.Reported, r.HasReported = b.Reported.Number, true
	}
	if b.Config != nil {
		r.Config = b.Config.Config.WithDefaults() // the zero configuration would be none
	}
	return rebuildAt(a.svc.PlanRebuild(ctx, r))
}

// rebuild shows the last rebuild, at whatever step it is.
func (a api) rebuild(ctx context.Context, q request) (answer, error) {
	r, err := a.svc.Rebuild(ctx, q.sequence())
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: newRebuildAnswer(r)}, nil
}

// sequenceEvidence shows what each source says before anything is frozen.
func (a api) sequenceEvidence(ctx context.Context, q request) (answer, error) {
	e, err := a.svc.SequenceEvidence(ctx, q.sequence())
	if err != nil {
		return answer{}, err
	}
	return answer{status: http.StatusOK, body: newSequenceEvidence(e)}, nil
}

type applyBody struct {
	Plan     string `json:"plan"`
	Confirm  string `json:"confirm"`
	Exhausts bool   `json:"exhausts"`
}

func (b *applyBody) fields() []field {
	return []field{text("plan", &b.Plan), text("confirm", &b.Confirm), flag("exhausts", &b.Exhausts)}
}

func (a api) applyRebuild(ctx context.Context, q request, b applyBody) (answer, error) {
	name := q.sequence()
	if err := confirmed(onSequence, string(name), b.Confirm); err != nil {
		return answer{}, err
	}
	if b.Plan == "" {
		return answer{}, alloc.Errorf(alloc.CodeInvalidRequest, "plan must be the id of the plan that you have looked at; GET …/rebuild tells it")
	}
	return rebuildAt(a.svc.ApplyRebuild(ctx, alloc.RebuildApproval{Sequence: name, Plan: b.Plan, Exhausts: b.Exhausts}))
}

// confirmed refuses what is not done before somebody has written the name of what it is done to.
func confirmed(what, name, confirm string) error {
	if confirm == name {
		return nil
	}
	return alloc.Errorf(alloc.CodeInvalidRequest, "confirm must be the name of the %s, exactly as the path has it; nothing was changed", what)
}

type shareBody struct {
	Share int `json:"share"` // 0 for what the configuration says
}

func (b *shareBody) fields() []field { return []field{bounded("share", 1, 100, &b.Share)} }

func (a api) resumeRebuild(ctx context.Context, q request, b shareBody) (answer, error) {
	return rebuildAt(a.svc.ResumeRebuild(ctx, q.sequence(), b.Share))
}

func (a api) cancelRebuild(ctx context.Context, q request) (answer, error) {
	return rebuildAt(a.svc.CancelRebuild(ctx, q.sequence()))
}

// rebuildAt is the answer of a request that brings a rebuild on. As long as the ledger is being read, for the plan or for the verification, it is
// not the last word: a repeat, also with the same key, goes on.
func rebuildAt(r alloc.Rebuild, err error) (answer, error) {
	if err != nil {
		return answer{}, err
	}
	a := answer{status: http.StatusOK, body: newRebuildAnswer(r)}
	if r.Step == alloc.RebuildGathering || r.Step == alloc.RebuildApplied {
		a.status, a.again = http.StatusAccepted, readingPause
	}
	return a, nil
}

// readingPause is after how long it is worth to ask again where a ledger is being read.
const readingPause = time.Second
