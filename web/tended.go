package web

import (
	"context"
	"log/slog"

	"idpool/alloc"
)

// LogDry logs a line at ERROR for each generator that has become dry in a run of the schedule. A run says so once, whoever has asked
// for it: nothing else tells at which moment it was.
func LogDry(ctx context.Context, logger *slog.Logger, r alloc.TendReport) {
	for _, f := range r.Refills {
		if f.DryNow {
			logger.LogAttrs(ctx, slog.LevelError, "a generator is dry", slog.String(KeyPool, string(f.Pool)), slog.String(KeyReason, f.Dry))
		}
	}
}

// LogRebuilds logs a line at ERROR for each sequence that a run of the schedule rebuilds by itself, at each step that it has done of it: numbers
// are left out, and somebody has to find out why the counter was lost. Where none is on it says nothing.
func LogRebuilds(ctx context.Context, logger *slog.Logger, r alloc.TendReport) {
	for _, b := range r.Rebuilds {
		if b.Auto {
			logger.LogAttrs(ctx, slog.LevelError, "a sequence is rebuilt by the schedule",
				slog.String(KeySequence, string(b.Sequence)), slog.String(KeyStep, string(b.Step)), slog.String(KeyReason, b.Why))
		}
	}
}
