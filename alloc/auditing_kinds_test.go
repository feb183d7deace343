package alloc

import "testing"

// What is for information alone leaves a thing healthy; one finding beside it does not.
func TestWhatIsForInformationIsNoFault(t *testing.T) {
	informing := []Finding{{Kind: FindNothingHeard}, {Kind: FindAcknowledged}, {Kind: FindGaps}}
	if v := verdictOf(informing); v != "" {
		t.Errorf("verdict %q of what is for information alone; want none", v)
	}
	if c := counted(Tally{}, informing); c.Informing != 3 || c.Findings != 3 || c.Trail != 0 {
		t.Errorf("counted as %+v; want 3, all of them for information", c)
	}
	for _, kind := range []FindingKind{FindHead, FindOverlap, FindTrail, FindIntent} {
		if v := verdictOf(append(informing, Finding{Kind: kind})); v != VerdictFindings {
			t.Errorf("verdict %q with a finding %s; want %s", v, kind, VerdictFindings)
		}
	}
}
