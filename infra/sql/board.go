package sql

import (
	"bytes"
	"context"
	"time"

	"idpool/alloc"
)

const (
	putBoard = `INSERT INTO board (one, at, data) VALUES (1, $1, $2)
		ON CONFLICT (one) DO UPDATE SET at = excluded.at, data = excluded.data WHERE excluded.at > board.at`
	selectBoard = `SELECT data FROM board WHERE at > $1`
)

// PutBoard replaces the board by one that was written later.
func (s *Store) PutBoard(ctx context.Context, at time.Time, data []byte) error {
	data = bytes.Clone(data) // the step may outlive this call
	_, err := write(ctx, s.writer, func(t *tx) (int64, error) { return t.exec(putBoard, instant(at), data) })
	return err
}

// Board returns the board that counts.
func (s *Store) Board(ctx context.Context) ([]byte, error) {
	since := instant(s.clock().Add(-alloc.BoardRetention))
	return read(ctx, s.reader, func(t *tx) (data []byte, err error) {
		_, err = t.row(selectBoard, []any{since}, &data)
		return data, err
	})
}
