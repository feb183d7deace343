package alloc

// What every Store finds out by itself is refused in one wording, that of the functions below, and of Exhausted, Refused
// and the checks of pools and sequences.

// VersionMismatch refuses a change that was made against another version than the present one. what is the kind of the
// thing: pool, sequence, credential, job or refill.
func VersionMismatch(what, name string, current Version) *Error {
	e := Errorf(CodeVersionMismatch, "the %s %q was changed since: it is at version %d now; read it again and repeat the change", what, name, current)
	e.Current = current
	return e
}

// KeyMismatch refuses a request whose key another request was made with.
func KeyMismatch() *Error {
	return Errorf(CodeKeyMismatch, "this Idempotency-Key was used for a different request; repeat that one unchanged, or use a new key")
}

// KeyEnded refuses the repeat of a claim that has none of its IDs any more.
func KeyEnded() *Error {
	return Errorf(CodeKeyEnded, "nothing is left of what this Idempotency-Key claimed: it was released or retired, or its hold has ended; use a new key")
}

// JobNotFound is for a job that was never made, or counts as absent by now, and for a part that it has not.
func JobNotFound(id JobID) *Error {
	return Errorf(CodeJobNotFound, "there is no job %s, or it is older than %d days; list the jobs to see which there are",
		quoteShort(string(id)), int(JobRetention.Hours())/24)
}

// CredentialNotFound is for a credential that was never made.
func CredentialNotFound(id CredentialID) *Error {
	return Errorf(CodeCredentialNotFound, "there is no credential %s; list them to see which there are", quoteShort(string(id)))
}
