package metrics

import (
	"log/slog"
	"time"

	"idpool/alloc"
)

// RunwayCap stands for a runway that is longer, or of which nothing is known: a metric has data in every run, also where
// nothing is used up.
const RunwayCap = 87600 // hours: ten years

// Value is one number of a run.
type Value struct {
	Name string
	Unit string // as CloudWatch names it
	Of   float64
	Sum  bool   // it is of this run alone and adds up over the runs; else it is how things stand
	Help string // what it is, for people
}

// Run is the numbers of one run of the schedule, for each and every run. The local program shows the same.
func Run(at time.Time, r alloc.TendReport, err error) []Value {
	var low, empty, dry, refillFailed, stuck, stopped, frozen, damaged, rebuilt int
	var added, relisted, returned, voided, calls, writes alloc.Count
	for _, p := range r.Pools {
		low += one(p.IsLow())
		empty += one(p.State != alloc.PoolDraining && p.Level.Seeded > 0 && p.Level.Available == 0)
		dry += one(p.Dry)
	}
	for _, f := range r.Refills {
		added += f.Added
		refillFailed += one(f.Err != nil)
	}
	for _, s := range r.Swept {
		relisted, returned, voided = relisted+s.Relisted, returned+s.Returned, voided+s.Voided
		calls, writes = calls+s.Calls, writes+s.Writes
	}
	for _, j := range r.Jobs {
		stuck += one(j.Err != nil)
	}
	for _, q := range r.Sequences {
		stopped += one(q.Faulty())
		frozen += one(q.State == alloc.SequenceFrozen || q.State == alloc.SequenceResuming)
	}
	for _, fault := range r.Failed {
		damaged += one(alloc.Is(fault, alloc.CodePoolDamaged))
	}
	for _, b := range r.Rebuilds {
		rebuilt += one(b.Auto)
	}
	still := 0.0
	if !r.Oldest.IsZero() {
		still = max(0, at.Sub(r.Oldest).Minutes())
	}
	stands := func(name string, n int, help string) Value { return Value{name, "Count", float64(n), false, help} }
	sum := func(name string, n int, help string) Value { return Value{name, "Count", float64(n), true, help} }
	return []Value{
		sum("runs", 1, "Runs of the schedule."),
		sum("runs_failed", one(err != nil), "Runs that failed as a whole."),
		stands("pools", len(r.Pools), "Pools that are not deleted."),
		stands("pools_low", low, "Pools below their low mark at the end of the run, draining ones left out."),
		stands("pools_empty", empty, "Pools that were seeded once and have no free ID, draining ones left out."),
		stands("pools_dry", dry, "Pools whose generator can make no more."),
		stands("sequences", len(r.Sequences), "Sequences that are not deleted."),
		stands("sequences_stopped", stopped, "Sequences whose counter is missing, behind their ledger or below their high-water mark."),
		stands("sequences_rebuilding", frozen, "Sequences that a rebuild has frozen, or that serve a share of their callers after one."),
		sum("sequences_rebuilt", rebuilt, "Sequences that the run rebuilt by itself, or went on with."),
		stands("pools_damaged", damaged, "Pools that have lost a part of what they are handed out by."),
		sum("steps_unheard", r.Unheard, "Administrative steps of which the run found that nobody knows how they ended."),
		{"runway_hours", "None", Runway(r), false, "Shortest runway of all pools, with what their generators can still make, and of all sequences; 87600 where none ends."},
		sum("refill_added", int(added), "IDs that the refill added."),
		sum("refill_failed", refillFailed, "Pools whose refill failed."),
		sum("sweep_failed", len(r.Failed), "Pools whose sweep failed."),
		stands("sweep_left", r.Left, "Pools that the time was over for."),
		sum("sweep_relisted", int(relisted), "Free IDs of stale stock that were published again."),
		sum("sweep_returned", int(returned), "IDs that came back."),
		sum("sweep_voided", int(voided), "Given-up batches that were settled."),
		sum("sweep_calls", int(calls), "Calls of the store by sweeps."),
		sum("sweep_writes", int(writes), "Writes among these."),
		stands("jobs_open", r.Open, "Jobs that have not ended."),
		sum("jobs_sent", r.Sent, "Jobs that stood still and were sent to the queue again."),
		sum("jobs_failed", stuck, "Jobs of which a step failed in the run."),
		{"job_still_minutes", "None", still, false, "How long the job that has stood still longest was not carried on."},
	}
}

// Runway is the shortest runway, in hours, of what runs out unless somebody does something: pools that are active, with all that
// their generators can still make, and sequences.
func Runway(r alloc.TendReport) float64 {
	hours := float64(RunwayCap)
	for _, p := range r.Pools {
		if p.State != alloc.PoolActive || unused(p) {
			continue
		}
		f := p.Forecast
		if p.Filled && !p.Dry {
			f = p.Supply
		}
		hours = min(hours, runway(f))
	}
	for _, s := range r.Sequences {
		if s.State == alloc.SequenceActive {
			hours = min(hours, runway(s.Forecast))
		}
	}
	return hours
}

// unused reports whether the pool was never seeded: it has not begun, so it does not end.
func unused(p alloc.PoolStanding) bool { return p.Level.Seeded == 0 && p.Level.Available == 0 }

func runway(f alloc.Forecast) float64 {
	if left, ok := f.Runway(); ok {
		return min(left.Hours(), RunwayCap)
	}
	return RunwayCap
}

// Pool is the numbers of one pool.
func Pool(p alloc.PoolStanding) []Value {
	perHour, hours := 0.0, runway(p.Forecast)
	if unused(p) {
		hours = RunwayCap
	}
	for _, b := range p.Forecast.Burns {
		perHour = max(perHour, b.PerHour)
	}
	return []Value{
		{"available", "Count", float64(p.Level.Available), false, "Free IDs."},
		{"held", "Count", float64(p.Level.Held), false, "Held IDs."},
		{"low_mark", "Count", float64(p.Low), false, "Below so many free IDs the pool is filled, or somebody is told."},
		{"dry", "Count", float64(one(p.Dry)), false, "1 where the pool's generator can make no more, else 0."},
		{"target_mark", "Count", float64(p.Target), false, "Free IDs that the pool is filled up to."},
		{"burn_per_hour", "None", perHour, false, "IDs used in an hour, by the faster of the last hour and the last day."},
		{"runway_hours", "None", hours, false, "Hours until the pool is empty at that rate, if nothing is added; 87600 for never."},
		{"supply_hours", "None", runway(p.Supply), false, "Hours until the pool is empty at that rate, with all that its generator can still make; 87600 for never, and without a generator."},
	}
}

// Sequence is the numbers of one sequence.
func Sequence(s alloc.SequenceStanding) []Value {
	values := []Value{
		{"left", "Count", float64(s.Left), false, "Numbers that are left."},
		{"runway_hours", "None", runway(s.Forecast), false, "Hours until the sequence overflows at its rate; 87600 for never."},
	}
	if !s.Faulty() && s.State != alloc.SequenceFrozen {
		values = append(values, Value{"position", "None", float64(s.Next), false, "Lowest number that is not leased, exact up to 2^53. It is kept where a restore of the table does not reach."})
	}
	return values
}

// Audit is the numbers of one audit that is done.
func Audit(j alloc.Job) []Value {
	sum := func(name string, n int, help string) Value { return Value{name, "Count", float64(n), true, help} }
	return []Value{
		sum("audits", 1, "Audits that are done."),
		sum("audits_ill", one(j.Verdict == alloc.VerdictFindings), "Audits whose verdict is findings: of the pool or the sequence, of one of the trail alone of that."),
		sum("audits_trail_ill", one(j.TrailVerdict() == alloc.VerdictFindings), "Audits that have found something about the trail that nobody has acknowledged."),
		sum("audit_findings", int(j.Tally.Findings-j.Tally.Informing), "What audits have found, without what is for information."),
		sum("audit_information", int(j.Tally.Informing), "What audits have found for information."),
	}
}

// Audited returns what is to be logged of an audit that is done, beside its own attributes.
func (s Set) Audited(at time.Time, j alloc.Job) []slog.Attr { return s.line(at, Audit(j)) }

// Lines returns what is to be logged of a run beside its own event, each element as the attributes of one line: the numbers of
// the run, and where Set.Pools says so those of each pool and sequence.
func (s Set) Lines(at time.Time, r alloc.TendReport, err error) [][]slog.Attr {
	lines := [][]slog.Attr{s.line(at, Run(at, r, err))}
	if !s.Pools {
		return lines
	}
	for _, p := range r.Pools {
		lines = append(lines, s.line(at, Pool(p), slog.String("pool", string(p.Pool))))
	}
	for _, q := range r.Sequences {
		lines = append(lines, s.line(at, Sequence(q), slog.String("sequence", string(q.Sequence))))
	}
	return lines
}

// line is one line of metrics with the table and what else is given as dimensions.
func (s Set) line(at time.Time, values []Value, dimensions ...slog.Attr) []slog.Attr {
	line := append([]slog.Attr{slog.String(dimTable, s.Table)}, dimensions...)
	names := make([]string, len(line))
	for i, d := range line {
		names[i] = d.Key
	}
	metrics := make([]metric, len(values))
	for i, v := range values {
		line = append(line, slog.Float64(v.Name, v.Of))
		metrics[i] = metric{v.Name, v.Unit}
	}
	return append(line, embedded(at, direct(names, metrics...)))
}

func one(is bool) int {
	if is {
		return 1
	}
	return 0
}
