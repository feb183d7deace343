package web

import (
	"context"
	"log/slog"

	"idpool/alloc"
)

// LogAlarms logs at ERROR what a run of the schedule has found or done by itself, and a person should know at once. A run says each once, whoever
// has asked for it: nothing else tells at which moment it was.
func LogAlarms(ctx context.Context, logger *slog.Logger, r alloc.TendReport) {
	for _, f := range r.Refills {
		if f.DryNow {
			logger.LogAttrs(ctx, slog.LevelError, "a generator is dry", slog.String(KeyPool, string(f.Pool)), slog.String(KeyReason, f.Dry))
		}
	}
	for _, b := range r.Rebuilds {
		if b.Auto { // numbers are left out, and somebody has to find out why the counter was lost
			logger.LogAttrs(ctx, slog.LevelError, "a sequence is rebuilt by the schedule",
				slog.String(KeySequence, string(b.Sequence)), slog.String(KeyStep, string(b.Step)), slog.String(KeyReason, b.Why))
		}
	}
	if r.Unheard > 0 {
		logger.LogAttrs(ctx, slog.LevelError, "administrative steps were begun, and their processes ended before they could say how they went; the trail has them as unknown",
			slog.Int(KeyUnheard, r.Unheard))
	}
}
