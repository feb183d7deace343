package alloc

// What a restore is blind to is the one question that decides what else it has to do. Of a pool that keeps, the old table has every ID, and a log after
// which nobody was served has every one that was taken: whatever of it is seeded again, or made again by a generator, is in the pool already, and is not
// added. All other restores know nothing of what was seeded after the point and taken: of a pool that forgets the old table does not have it any more, a
// log has nothing of what came after it, and a burning of nothing. So they close each way by which an ID may enter the pool that was in it already.
//
// The counters of periods that began after the point are closed by every restore: others lease of them too, and what they leased no pool tells.

// sighted reports whether the restore of the pool knows all that was taken of what was seeded after the point.
func (j Job) sighted(p Pool) bool {
	switch {
	case p.Config.Policy == PolicyForget:
		return false
	case j.Spec.Source == RestoreLog:
		return j.Spec.AtMost == 0
	}
	return j.Spec.Source == RestoreTable
}

// restorePhase is what a restore of a pool is at.
type restorePhase string

// The phases: seedings that go on by themselves, counters of periods, what the refill is about to put, IDs of the pool itself by their state, the old table, and seedings that
// were begun meanwhile.
const (
	phaseSeedings  restorePhase = "seedings"
	phasePeriods   restorePhase = "periods"
	phaseRefill    restorePhase = "refill"
	phaseHeld      restorePhase = "held"
	phaseClaimed   restorePhase = "claimed"
	phaseReturning restorePhase = "returning"
	phaseStock     restorePhase = "stock"
	phaseOld       restorePhase = "old"
	phaseAgain     restorePhase = "again"
)

// The phases of a restore that is sighted, of one that is blind, and of one that is blind by the old table, in their order.
var (
	sightedPhases   = []restorePhase{phasePeriods, phaseOld}
	blindPhases     = []restorePhase{phaseSeedings, phasePeriods, phaseRefill, phaseHeld, phaseReturning, phaseStock, phaseAgain}
	forgottenPhases = []restorePhase{phaseSeedings, phasePeriods, phaseRefill, phaseHeld, phaseClaimed, phaseReturning, phaseStock, phaseOld, phaseAgain}
)

// phases are those of a job, in their order: of a restore by a log, those behind it.
func (j Job) phases(p Pool) []restorePhase {
	switch {
	case j.sighted(p) && j.Spec.Source == RestoreLog:
		return sightedPhases[:1]
	case j.sighted(p):
		return sightedPhases
	case j.Spec.Source == RestoreTable:
		return forgottenPhases
	}
	return blindPhases
}
