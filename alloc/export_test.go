package alloc

// Lines is how many sequences the Service remembers something about.
func (s *Service) Lines() int {
	s.segments.mu.Lock()
	defer s.segments.mu.Unlock()
	return len(s.segments.lines)
}

// NewCredentialID, NewSecret and NewIntent are for tests of what they make.
var (
	NewCredentialID = newCredentialID
	NewSecret       = newSecret
	NewIntent       = newIntent
	SeenMissing     = seenMissing
)

// EncodeNumbers writes numbers as the record of a key keeps them.
func EncodeNumbers(numbers []Number) []byte {
	var k stock
	for _, n := range numbers {
		k = append(k, piece{next: n, end: n})
	}
	return k.encode()
}

// DecodeNumbers reads them.
func DecodeNumbers(b []byte) ([]Number, error) { return decodeNumbers(b) }

// Verified is how many secrets the Service remembers.
func (s *Service) Verified() int {
	s.verified.mu.Lock()
	defer s.verified.mu.Unlock()
	return len(s.verified.callers)
}
