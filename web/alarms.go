package web

import (
	"context"
	"log/slog"
	"strconv"

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

// AuditDone reports whether the job is an audit that is done.
func AuditDone(j alloc.Job) bool { return j.Kind == alloc.JobAudit && j.State == alloc.JobDone }

// LogAudit logs an audit that is done: at ERROR where it has found what is not for information alone. Kept where nobody who can write the table can write, the
// line is what tells later up to where the trail was.
func LogAudit(ctx context.Context, logger *slog.Logger, j alloc.Job, more ...slog.Attr) {
	level := slog.LevelInfo
	if j.Verdict != alloc.VerdictHealthy || j.TrailVerdict() != alloc.VerdictHealthy {
		level = slog.LevelError
	}
	attrs := []slog.Attr{slog.String(KeyJob, string(j.ID)), slog.String(KeyVerdict, j.Verdict), slog.String(KeyTrailVerdict, j.TrailVerdict())}
	if j.Pool != "" {
		attrs = append(attrs, slog.String(KeyPool, string(j.Pool)))
	}
	if j.Spec.Sequence != "" {
		attrs = append(attrs, slog.String(KeySequence, string(j.Spec.Sequence)))
	}
	if end := j.Spec.Verified; end.Month != "" {
		attrs = append(attrs, slog.Group(KeyTrailEnd, slog.String("month", end.Month), slog.Int64("position", end.Last), slog.String("hash", end.Hash)))
	}
	logger.LogAttrs(ctx, level, "an audit is done", append(attrs, more...)...)
}

// LogStop logs at WARN that a sequence was met stopped, why, and where its counter stands, if that can be read. Numbers are strings, as everywhere.
func LogStop(ctx context.Context, logger *slog.Logger, s alloc.Stop) {
	attrs := []slog.Attr{slog.String(KeySequence, string(s.Sequence)), slog.String(KeyReason, s.Reason)}
	if s.Known {
		attrs = append(attrs, slog.String(KeyNext, strconv.FormatUint(uint64(s.Next), 10)))
	}
	if id := RequestID(ctx); id != "" {
		attrs = append(attrs, slog.String(KeyRequestID, id))
	}
	if s.Paused {
		logger.LogAttrs(ctx, slog.LevelWarn, "the counter of a paused sequence is wrong, and it is to be rebuilt before it is resumed", attrs...)
		return
	}
	logger.LogAttrs(ctx, slog.LevelWarn, "a sequence has stopped, and hands out nothing until it is rebuilt", attrs...)
}
