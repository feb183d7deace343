package alloc

// Encode is encode, for tests that put a board.
func (b Board) Encode() ([]byte, error) { return b.encode() }
