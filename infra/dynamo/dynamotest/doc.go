// Package dynamotest proves infra/dynamo at single writes. It has the Store's seam, dynamo.Table, in memory (Memory),
// with faults (Faults), under the hand of a test that releases one call at a time (Stage), and weakened (mutants); and
// a model check that runs the real Store through random schedules of all of it. Only tests import it.
package dynamotest
