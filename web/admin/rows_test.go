package admin

import (
	"errors"
	"math"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/templates"
)

func TestGrouped(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 5: "5", 999: "999", 1000: "1,000", 123456: "123,456", -1234567: "-1,234,567", -100: "-100", math.MaxInt64: "9,223,372,036,854,775,807",
	} {
		if got := grouped(n); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
	if got := grouped(alloc.MaxNumber + 1); got != "9,223,372,036,854,775,808" {
		t.Errorf("the position after the last number: %s", got)
	}
}

func TestPercentNeverSaysTooMuch(t *testing.T) {
	for share, want := range map[float64]string{
		0: "0 %", 1e-12: "< 0.1 %", 0.0004: "< 0.1 %", 0.001: "0.1 %", 0.5: "50.0 %", 0.99: "99.0 %", 0.9995: "> 99.9 %", 1: "100 %",
	} {
		if got := percent(share); got != want {
			t.Errorf("%v: got %s, want %s", share, got, want)
		}
	}
}

func TestSequenceRows(t *testing.T) {
	sequence := func(state alloc.SequenceState, start, next, limit alloc.Number) alloc.Sequence {
		return alloc.Sequence{Name: "s", State: state, Next: next, Config: alloc.SequenceConfig{Start: start, Limit: limit}, Epoch: 1}
	}
	active := alloc.SequenceActive
	tests := map[string]struct {
		sequence   alloc.Sequence
		used, next string
		state      templates.State
	}{
		"untouched":                 {sequence(active, 1, 1, 100), "0 %", "1", templates.State{Tone: "good", Text: "active"}},
		"from zero":                 {sequence(active, 0, 50, 99), "50.0 %", "50", templates.State{Tone: "good", Text: "active"}},
		"nearly used up":            {sequence(active, 1, 96, 100), "95.0 %", "96", templates.State{Tone: "warn", Text: "below 10 % left"}},
		"the last number is left":   {sequence(active, 1, alloc.MaxNumber, alloc.MaxNumber), "> 99.9 %", "9,223,372,036,854,775,807", templates.State{Tone: "warn", Text: "below 10 % left"}},
		"used up":                   {sequence(active, 1, 101, 100), "100 %", "", templates.State{Tone: "bad", Text: "exhausted"}},
		"used up at the very end":   {sequence(active, 1, alloc.MaxNumber+1, alloc.MaxNumber), "100 %", "", templates.State{Tone: "bad", Text: "exhausted"}},
		"paused":                    {sequence(alloc.SequencePaused, 1, 51, 100), "50.0 %", "51", templates.State{Tone: "off", Text: "paused"}},
		"frozen":                    {sequence(alloc.SequenceFrozen, 1, 50, 100), "–", "not known", templates.State{Tone: "bad", Text: "frozen by a rebuild"}},
		"resuming":                  {sequence(alloc.SequenceResuming, 1, 50, 100), "49.0 %", "50", templates.State{Tone: "warn", Text: "resuming for 0 in 100 callers"}},
		"stopped: no position said": {sequence(alloc.SequenceStopped, 1, 0, 100), "–", "not known", templates.State{Tone: "bad", Text: "stopped, rebuild it"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := sequenceRow(alloc.SequenceSeen{Sequence: tt.sequence}, noon)
			if got.Used != tt.used || got.Next != tt.next || got.State != tt.state {
				t.Errorf("got %q used, next %q, %v; want %q, %q, %v", got.Used, got.Next, got.State, tt.used, tt.next, tt.state)
			}
		})
	}
}

func TestPoolRows(t *testing.T) {
	status := func(state alloc.PoolState, l alloc.Level) alloc.PoolStatus {
		return alloc.PoolStatus{Pool: alloc.Pool{Name: "p", State: state}, Level: l}
	}
	tests := map[string]struct {
		status alloc.PoolStatus
		meter  string
		state  templates.State
	}{
		"full":                        {status(alloc.PoolActive, alloc.Level{Available: 10, Seeded: 10}), "10/10", templates.State{Tone: "good", Text: "active"}},
		"low":                         {status(alloc.PoolActive, alloc.Level{Available: 9, Seeded: 100}), "9/100", templates.State{Tone: "warn", Text: "below 10 %"}},
		"just not low":                {status(alloc.PoolActive, alloc.Level{Available: 10, Seeded: 100}), "10/100", templates.State{Tone: "good", Text: "active"}},
		"empty":                       {status(alloc.PoolActive, alloc.Level{Seeded: 100}), "0/100", templates.State{Tone: "bad", Text: "exhausted"}},
		"never seeded":                {status(alloc.PoolActive, alloc.Level{}), "0/1", templates.State{Tone: "warn", Text: "nothing seeded"}},
		"seeded since the last count": {status(alloc.PoolActive, alloc.Level{Available: 30, Seeded: 10}), "30/30", templates.State{Tone: "good", Text: "active"}},
		"paused and empty":            {status(alloc.PoolPaused, alloc.Level{Seeded: 100}), "0/100", templates.State{Tone: "off", Text: "paused"}},
		"draining":                    {status(alloc.PoolDraining, alloc.Level{Available: 5, Seeded: 100}), "5/100", templates.State{Tone: "off", Text: "draining"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := poolRow(t.Context(), alloc.PoolSeen{PoolStatus: tt.status}, noon)
			if meter := got.Meter.Value + "/" + got.Meter.Max; meter != tt.meter || got.State != tt.state {
				t.Errorf("got %s, %v; want %s, %v", meter, got.State, tt.meter, tt.state)
			}
		})
	}
	t.Run("kept between marks", func(t *testing.T) {
		kept := func(available, seeded alloc.Count, r alloc.RefillStatus) alloc.PoolStatus {
			s := status(alloc.PoolActive, alloc.Level{Available: available, Seeded: seeded})
			s.Pool.Config.Marks, s.Refill = alloc.Marks{Low: 20, Target: 100, LowHours: 3}, &r
			return s
		}
		unread := kept(90, 5000, alloc.RefillStatus{})
		unread.Refill, unread.RefillError = nil, errors.New("secret")
		short := kept(3, 5, alloc.RefillStatus{Low: true})
		short.Pool.Config.Marks = alloc.Marks{Low: 20}
		inHours := kept(90, 5000, alloc.RefillStatus{})
		inHours.Pool.Config.Marks = alloc.Marks{LowHours: 3, TargetHours: 1200}
		for name, tt := range map[string]struct {
			status      alloc.PoolStatus
			meter, text string
			tone        templates.Tone
			why, marks  string
		}{
			"full, though much was used":      {kept(90, 5000, alloc.RefillStatus{}), "90/100", "active", "good", "", "low 20 or 3 h, target 100"},
			"low, and nothing fills it":       {kept(19, 30, alloc.RefillStatus{Low: true}), "19/100", "low", "warn", "", "low 20 or 3 h, target 100"},
			"low, and on its way":             {kept(19, 30, alloc.RefillStatus{Low: true, Filling: true}), "19/100", "low, filling", "warn", "", "low 20 or 3 h, target 100"},
			"on its way":                      {kept(50, 50, alloc.RefillStatus{Filling: true}), "50/100", "filling", "good", "", "low 20 or 3 h, target 100"},
			"new, and on its way":             {kept(0, 0, alloc.RefillStatus{Low: true, Filling: true}), "0/100", "low, filling", "warn", "", "low 20 or 3 h, target 100"},
			"new":                             {kept(0, 0, alloc.RefillStatus{Low: true}), "0/100", "nothing seeded", "warn", "", "low 20 or 3 h, target 100"},
			"empty, and on its way":           {kept(0, 50, alloc.RefillStatus{Low: true, Filling: true}), "0/100", "exhausted", "bad", "", "low 20 or 3 h, target 100"},
			"dry, with stock":                 {kept(50, 50, alloc.RefillStatus{Filling: true, Dry: "all used"}), "50/100", "dry", "warn", "All used.", "low 20 or 3 h, target 100"},
			"dry and low":                     {kept(5, 50, alloc.RefillStatus{Low: true, Filling: true, Dry: "all used"}), "5/100", "low, dry", "bad", "All used.", "low 20 or 3 h, target 100"},
			"dry and empty":                   {kept(0, 50, alloc.RefillStatus{Low: true, Filling: true, Dry: "all used"}), "0/100", "exhausted, dry", "bad", "All used.", "low 20 or 3 h, target 100"},
			"its refill cannot be read":       {unread, "90/100", "active", "good", "Its refill is not known. Something went wrong on our side; repeat the request with the same Idempotency-Key, and if it fails again report the request_id.", "low 20 or 3 h, target 100"},
			"low by far, without a target":    {short, "3/20", "low", "warn", "", "low 20"},
			"a target that nobody knows here": {inHours, "90/5000", "active", "good", "", "low 3 h, target 1,200 h"},
		} {
			got := poolRow(t.Context(), alloc.PoolSeen{PoolStatus: tt.status}, noon)
			meter := got.Meter.Value + "/" + got.Meter.Max
			if meter != tt.meter || got.State != (templates.State{Tone: tt.tone, Text: tt.text}) || got.Why != tt.why || got.Marks != tt.marks {
				t.Errorf("%s: got %s, %v, %q, %q", name, meter, got.State, got.Why, got.Marks)
			}
		}
	})
	t.Run("unreadable", func(t *testing.T) {
		s := status(alloc.PoolActive, alloc.Level{})
		s.LevelError = errors.New("secret")
		if got := poolRow(t.Context(), alloc.PoolSeen{PoolStatus: s}, noon); got.Unknown == "" || got.State.Tone != templates.ToneBad || got.Meter.Max != "" {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("what is neither free nor claimed", func(t *testing.T) {
		got := poolRow(t.Context(), alloc.PoolSeen{PoolStatus: status(alloc.PoolActive, alloc.Level{Available: 1, Held: 1200, Retired: 2, Seeded: 1203})}, noon)
		if got.Others != "1,200 held, 2 retired" {
			t.Errorf("got %q", got.Others)
		}
	})
}

func TestCounts(t *testing.T) {
	for name, tt := range map[string]struct {
		counted time.Time
		text    string
		stale   bool
	}{
		"never":               {time.Time{}, "", false},
		"just now":            {noon.Add(-time.Minute), "11:59:00 UTC", false},
		"three runs ago":      {noon.Add(-3 * time.Minute), "11:57:00 UTC", false},
		"longer ago":          {noon.Add(-3*time.Minute - time.Second), "11:56:59 UTC", true},
		"yesterday":           {noon.Add(-24 * time.Hour), "2026-11-28 12:00:00 UTC", true},
		"in another timezone": {noon.In(time.FixedZone("", 3600)), "12:00:00 UTC", false},
	} {
		t.Run(name, func(t *testing.T) {
			got := poolRow(t.Context(), alloc.PoolSeen{PoolStatus: alloc.PoolStatus{Level: alloc.Level{CountedAt: tt.counted}}}, noon).Counted
			if got.Text != tt.text || got.Stale != tt.stale {
				t.Errorf("got %q, stale %t; want %q, %t", got.Text, got.Stale, tt.text, tt.stale)
			}
		})
	}
}

func TestTheColourOfAnEnvironment(t *testing.T) {
	for environment, want := range map[string]string{
		"production": "production", "PROD eu": "production", "local": "local", "local · SQLite": "local", "staging": "other", "": "other", "localprod": "production",
	} {
		if got := kindOf(environment); got != want {
			t.Errorf("%q: got %s, want %s", environment, got, want)
		}
	}
}

func TestSentences(t *testing.T) {
	for detail, want := range map[string]string{"": "", "try again": "Try again.", "it is so.": "It is so.", "élan": "Élan."} {
		if got := sentence(detail); got != want {
			t.Errorf("%q: got %q, want %q", detail, got, want)
		}
	}
}
