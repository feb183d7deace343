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
)
