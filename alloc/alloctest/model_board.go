package alloctest

import (
	"bytes"
	"context"
	"time"

	"idpool/alloc"
)

// modelBoard is the board.
type modelBoard struct {
	at   time.Time
	data []byte
}

// PutBoard implements alloc.Boards.
func (m *Model) PutBoard(ctx context.Context, at time.Time, data []byte) error {
	return m.step(ctx, func(d *modelData) error {
		if d.board.data == nil || at.After(d.board.at) {
			d.board = modelBoard{at, bytes.Clone(data)}
		}
		return nil
	})
}

// Board implements alloc.Boards.
func (m *Model) Board(ctx context.Context) (data []byte, err error) {
	err = m.step(ctx, func(d *modelData) error {
		if m.now().Before(d.board.at.Add(alloc.BoardRetention)) {
			data = bytes.Clone(d.board.data)
		}
		return nil
	})
	return data, err
}
