package web

import (
	"context"
	"log/slog"

	"idpool/alloc"
)

// LogAlarms logs at ERROR what a run of the schedule has found and a person should know at once. A run says each once, whoever has asked
// for it: nothing else tells at which moment it was.
func LogAlarms(ctx context.Context, logger *slog.Logger, r alloc.TendReport) {
	LogDry(ctx, logger, r)
	LogRebuilds(ctx, logger, r)
	if r.Unheard > 0 {
		logger.LogAttrs(ctx, slog.LevelError, "administrative steps were begun, and their processes ended before they could say how they went; the trail has them as unknown",
			slog.Int(keyUnheard, r.Unheard))
	}
}

const keyUnheard = "unheard"
