package dynamo

import (
	"context"
	"fmt"
	"time"

	"idpool/alloc"
)

// The board is the item N#board . with the first 300 KB; what is beyond stands in items N#board digest#n, put before the item
// that names them, so that whoever reads that finds the whole of one board. All of it expires BoardRetention after it was written.
//
//	a  when it was written, in nanoseconds     data  bytes     of  digest of all     n  how many other items there are
const (
	boardCatalogue = "N#board"
	boardPiece     = 300 << 10
)

var boardKey = Key{PK: boardCatalogue, SK: "."}

func boardPieceKey(of string, n int) Key {
	return Key{PK: boardCatalogue, SK: fmt.Sprintf("%s#%03d", of, n)}
}

// PutBoard implements alloc.Boards.
func (s *Store) PutBoard(ctx context.Context, at time.Time, data []byte) error {
	expires, of := at.Add(alloc.BoardRetention).Unix(), digestOf(fmt.Sprint(at.UnixNano()), string(data))[:settingsDigest]
	first, rest := cutBoard(data)
	for i, piece := range rest {
		if err := s.putFresh(ctx, item(boardPieceKey(of, i), Item{"data": piece, AttrExpires: expires})); err != nil {
			return err
		}
	}
	it := item(boardKey, Item{AttrTaken: at.UnixNano(), "data": first, "of": of, "n": int64(len(rest)), AttrExpires: expires})
	err := s.table.Put(ctx, it, Any(Absent(AttrPK), Lt(AttrTaken, at.UnixNano())))
	if _, later := refusedBy(err); later {
		return nil
	}
	return err
}

// cutBoard is the piece of the first item, and those of the others.
func cutBoard(data []byte) (first []byte, rest [][]byte) {
	first = data[:min(len(data), boardPiece)]
	for from := boardPiece; from < len(data); from += boardPiece {
		rest = append(rest, data[from:min(len(data), from+boardPiece)])
	}
	return first, rest
}

// Board implements alloc.Boards.
func (s *Store) Board(ctx context.Context) ([]byte, error) {
	it, err := s.table.Get(ctx, boardKey)
	if err != nil || it == nil || expired(it, s.now()) {
		return nil, err
	}
	data, others := it.Bytes("data"), it.Int("n")
	if others == 0 {
		return data, nil
	}
	keys := make([]Key, others)
	for i := range keys {
		keys[i] = boardPieceKey(it.Str("of"), i)
	}
	pieces, err := s.getAll(ctx, keys)
	if err != nil {
		return nil, err
	}
	for i, piece := range pieces {
		if piece == nil {
			return nil, internal(fmt.Errorf("the piece %s of the board is lost", keys[i].SK))
		}
		data = append(data, piece.Bytes("data")...)
	}
	return data, nil
}
