// Package dynamotest proves infra/dynamo at single calls of its table. It has the Store's seam, dynamo.Table, in memory
// (Memory), with faults (Faults), as data to be changed on its way (Through), and as a real engine (see engine.go).
//
// Its own tests run the real Store on that: a fault at every single write, schedules written down call by call, and a
// model check that plays random schedules of several processes with all that networks, clocks and crashes can do to
// them. What they find is worth as much as what they would find: so weakened protocols, the mutants, must all be caught.
// Only tests import it.
package dynamotest
