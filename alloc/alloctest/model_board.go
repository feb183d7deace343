package alloctest

import (
	"bytes"
	"context"
	"time"

	"idpool/alloc"
	"idpool/alloc/generator"
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

// PoolLevels implements alloc.Boards.
func (m *Model) PoolLevels(ctx context.Context, names []alloc.PoolName) (list []alloc.PoolLevel, err error) {
	err = m.step(ctx, func(d *modelData) error {
		for _, name := range names {
			l := alloc.PoolLevel{Pool: alloc.Pool{Name: name}}
			p, err := d.pool(name)
			if l.Err = err; err == nil {
				l.Pool, l.Level = p.Pool, p.level()
				l.Pool.Config.Generator, l.Pool.Config.Marks = generator.Config{}, alloc.Marks{}
			}
			list = append(list, l)
		}
		return nil
	})
	return list, err
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
