package alloc

// ReadInParts reads a file that comes in parts, as a job that receives it does, which keeps nothing in memory between them.
func ReadInParts(f SeedFormat, parts ...[]byte) ([]SeedEntry, error) {
	j := Job{Kind: JobSeed, State: JobReceiving, Input: f, Column: -1}
	var entries []SeedEntry
	for n, data := range parts {
		r, err := goOn(j)
		if err != nil {
			return nil, err
		}
		before := r.lines
		if _, err := r.read(data, func(e SeedEntry) { entries = append(entries, e) }); err != nil {
			return nil, err
		}
		j.Column, j.Mark = r.column, r.mark()
		j.Inputs = append(j.Inputs, JobInput{Pieces: n, Lines: r.lines - before})
	}
	return entries, nil
}

// CutPieces cuts entries into pieces.
func CutPieces(entries []SeedEntry) [][]byte {
	var c cutter
	for _, e := range entries {
		c.add(e)
	}
	return c.pieces
}

// ReadPiece reads a piece.
func ReadPiece(data []byte) ([]SeedEntry, error) {
	entries, err := readPiece(data)
	var plain []SeedEntry
	for _, e := range entries {
		plain = append(plain, e.SeedEntry)
	}
	return plain, err
}

// RejectAll is what a part of the result has of entries of which none was added.
func RejectAll(entries []SeedEntry) ([]byte, error) {
	all := make([]settled, len(entries))
	for i, e := range entries {
		all[i] = settled{SeedDuplicate, e.Raw, "it is in the pool already, on a line like any other 1234567"}
		if why := idFault(e.Raw); why != "" {
			all[i] = settled{SeedInvalid, quoteShort(e.Raw), why}
		}
	}
	var pieces []pieceEntry
	for _, e := range entries {
		pieces = append(pieces, pieceEntry{SeedEntry: e})
	}
	p, err := rejectsOf(pieces, all, "")
	return p.Data, err
}
