package sql

import (
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"idpool/alloc"
)

// Bounds of a step of an audit, and after how long past its time a hold is a finding: two runs of the schedule.
const (
	auditRows = 1000
	auditKeys = 50
	overdue   = 2 * time.Minute
)

// drawn reports whether what is named is in the sample of so many percent: always the same.
func drawn(name string, percent int) bool {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // never returns an error
	return int(h.Sum32()%100) < percent
}

// found adds a finding to a step.
func found(step *alloc.AuditStep, kind alloc.FindingKind, on string, remedy alloc.Remedy, detail string, args ...any) {
	step.Findings = append(step.Findings, alloc.Finding{Kind: kind, On: on, Detail: fmt.Sprintf(detail, args...), Remedy: remedy})
}

// The stages of an audit, with which the names of its steps begin; what follows is where in the stage the step goes on.
const (
	stageIDs    = "ids/"
	stageKeys   = "keys/"
	stageLedger = "ledger/"
)

// stageOf takes the name of a step apart.
func stageOf(step string) (stage, place string) {
	stage, place, _ = strings.Cut(step, "/")
	return stage + "/", place
}

func noStep() error {
	return alloc.Errorf(alloc.CodeInvalidRequest, "this is no step of an audit; begin it again")
}
