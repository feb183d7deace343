package alloc

// on is what the job is about: a pool, a sequence, or the trail alone.
func (j Job) on() (on kind, name string) {
	switch {
	case j.Pool != "":
		return aPool, string(j.Pool)
	case j.Spec.Sequence != "":
		return aSequence, string(j.Spec.Sequence)
	}
	return aTrail, ""
}

// covered is the name that a scope for the job has to cover.
func (j Job) covered() string {
	on, name := j.on()
	return on.covered(name)
}

// named is what a request is about that names either a pool or a sequence.
func named(pool PoolName, sequence SequenceName) (on kind, name string, err error) {
	on, name = Job{Pool: pool, Spec: JobSpec{Sequence: sequence}}.on()
	switch {
	case on == aTrail:
		return "", "", Errorf(CodeInvalidRequest, "name a pool, or a sequence")
	case pool != "" && sequence != "":
		return "", "", Errorf(CodeInvalidRequest, "name either a pool or a sequence; make a job for each")
	}
	return on, name, nil
}
