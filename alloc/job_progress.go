package alloc

// Progress is how far a job is, by the work that it does. Done never falls.
type Progress struct {
	Done      Count // entries or IDs; of a rebuild or a restore of a pool looks at IDs, as some are looked at twice
	Total     Count // what Done will be at the end; 0 where that is not known
	Estimated bool  // Total is an estimate, and may change
}

// Progress is how far the job is.
func (j Job) Progress() Progress {
	if j.Tally.Looked == 0 && j.Tally.ToLook == 0 {
		return Progress{Done: j.Done, Total: j.Total}
	}
	return Progress{Done: j.Tally.Looked, Total: j.Tally.ToLook, Estimated: j.State != JobDone}
}

// looked is the tally after a step that has looked at so many IDs, with so many left as far as is known.
func (t Tally) looked(n, left Count) Tally {
	t.Looked += n
	t.ToLook = t.Looked + left
	return t
}
