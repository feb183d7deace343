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
