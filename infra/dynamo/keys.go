package dynamo

import (
	"fmt"
	"strconv"
	"strings"

	"idpool/alloc"
)

// The items of pools, by partition and sort key. Names of pools have no '#', so no two keys run into each other.
//
//	I#pool#id        I          one ID: who owns it is decided here alone
//	P#pool           H          head of the pool's queue of chunks, with configuration and the last sweep's counts
//	P#pool           G#digest   generator and marks of a configuration: immutable, see settings.go
//	P#pool           F          where the pool's refill stands, see refills.go
//	P#pool           L          lock of the sweep: keeps two apart, never trusted
//	P#pool           M          where the pool's rebuild is, see rebuild_pool.go
//	P#pool#series    M#step     what a step of it lists
//	P#pool#series    T#tag#step what of that is of a batch that was not carried to its end: it stays for two weeks, and then all chunks tell it
//	P#pool#series#n  C          chunk n: immutable from the tail on down, lists about 20 IDs with their generations
//	P#pool#R         I#id#g     generation g of an ID is on its way back, or will be
//	P#pool#R         V#hash#t   the key record with token t is given up, or was about to be
//	P#pool#V         time       sample of the level, one a minute, see samples.go
//	N#pool           name       catalogue, with a copy of what the head says the pool is: see pool_copy.go
//	K#hash           K          key record: the intent of a keyed claim
//	J#job            B#pool#d   one batch of a seeding job; d is the digest of its IDs
//
// The items of sequences are in sequences.go and the files beside it; those of requests whose answer is kept in
// kept_keys.go, of credentials, sessions, quotas, jobs and the shared secret in the files named so.
const (
	skID        = "I"
	skHead      = "H"
	skSweepLock = "L"
	skRebuild   = "M"
	skChunk     = "C"
	skKeyRecord = "K"

	pkPoolCatalogue = "N#pool"
)

// Names of attributes. They are short because every item on the path of a claim stays within one write unit, and the
// length of a name counts. One name means the same in every item that has it.
const (
	AttrPK = "pk"
	AttrSK = "sk"

	AttrState      = "s"   // state of an ID, a key record, a batch or a catalogue item
	AttrGeneration = "g"   // generation of an ID; of a batch: the one that its IDs begin with
	AttrToken      = "t"   // who owns an ID, a key record, a lock; what a return gives back
	AttrVersion    = "v"   // of a key record: raised with every change of it
	AttrExpires    = "exp" // second from which the item counts as absent; DynamoDB's TTL removes it later

	AttrJob      = "j"  // of an ID: the seeding that brought it
	AttrBatch    = "n"  // of an ID: tag of the batch within the job; of a chunk: tag of the batch that it publishes
	AttrTaken    = "a"  // when the ID was taken or the record born, in milliseconds
	AttrBy       = "b"  // of an ID: the client that took it
	AttrKey      = "k"  // of an ID or a return: hash of the key record
	AttrOwner    = "o"  // of an ID
	AttrMetadata = "m"  // of an ID
	AttrHoldEnd  = "u"  // of an ID: when its hold ends, in milliseconds; of a key record: when those of its IDs end
	AttrPut      = "w"  // of an ID that is free: who may list it, see seed_loose.go
	AttrCarried  = "cy" // of an ID that is taken: a restore has brought whoever has it, and nothing was done to it here since; 1, and by how many generations it is later than was said then
	AttrWritten  = "aw" // of an ID that is taken: when the last write was made by which it is taken as it is, in milliseconds, where that was not at AttrTaken
	AttrLast     = "y"  // of an ID: mark of the token that it came back from last

	AttrLow       = "lo" // of a head: oldest chunk with unsettled listings
	AttrNext      = "nx" // of a head: next chunk to lease
	AttrTail      = "tl" // of a head: number of published chunks
	AttrPublished = "pb" // of a head: listings in all published chunks
	AttrSeeded    = "sd" // of a head: IDs ever added; of a chunk: how many of its listings are of IDs added by it; of a sample: as of a head
	AttrSeries    = "se" // of a head: the chunk series, raised by a rebuild
	AttrRebuild   = "rb" // of a head: the job that rebuilds the pool; there while that is on
	AttrMade      = "mk" // of a head: the rebuild that is on has made it, as it was lost
	AttrAbandons  = "rv" // of a head: how often a rebuild was abandoned; absent for never
	AttrRestored  = "rp" // of a head: the point of the backup that the table was last restored from, in milliseconds; of a key record: as of the head when it was put. Absent for never
	AttrBase      = "ba" // of a head: so many chunks of the series, numbered down from -1, list what was settled when it was made; absent for none
	AttrRebuilt   = "rt" // of a head: the tail with which a rebuild has made the series; absent of one that none has made
	AttrLeasedAt  = "la" // of a head: when stock was leased last, in milliseconds
	AttrWanted    = "ws" // of a head: somebody could not search the window and waits for a sweep
	AttrDirtyFrom = "df" // of a head: from here …
	AttrDirtyTo   = "dt" // … to before here, chunks may list what other chunks list too

	AttrPoolState   = "st" // of a head
	AttrPolicy      = "po" // of a head
	AttrFold        = "fo" // of a head
	AttrMaxBatch    = "mb" // of a head
	AttrDescription = "ds" // of a head
	AttrBorn        = "cr" // of a head: when it was made, in milliseconds
	AttrSettings    = "cf" // of a head: digest that names generator and marks; absent for none
	AttrVoiding     = "vo" // of a head: source of the chunk at the tail, which is to list nothing; absent but then

	AttrWindowFree = "wf" // of a head, as all that follow by the last sweep: free IDs among the leased listings
	AttrDead       = "wd" // of a head: listings of chunks not leased yet that are of no use
	AttrHeld       = "wh" // of a head: IDs held; of a lock: those of them that the last sweep counted before it stopped
	AttrGone       = "wc" // of a head: IDs claimed, or forgotten
	AttrCountedAt  = "wt" // of a head: when that was, in milliseconds
	AttrRetired    = "rn" // of a head: IDs retired, which no sweep counts
	AttrRetiredBy  = "rc" // of a head: the call that counted last

	AttrListings = "l"  // of a chunk or key record: "generation ID" each
	AttrBefore   = "bf" // of a chunk: listings in the chunks before it
	AttrSource   = "x"  // of a chunk: who put it, unique to the put; of an ID retired by a call: which call
	AttrRelisted = "rl" // of a chunk: it may list what another one lists too
	AttrUpTo     = "up" // of a chunk: it counts only while that leaves the pool's level at or below this; of a batch: it has such chunks
	AttrVoid     = "vd" // of a chunk: it was not to count, and lists nothing any more
	AttrTags     = "tg" // of a chunk that a rebuild has made: of each listing the tag of the batch that has put the ID, whose counted listing it is
	AttrPrint    = "fp" // of a key record: fingerprint of the request

	AttrReason = "r" // of a return: why
	AttrDue    = "d" // of a return: not before, in milliseconds
	AttrID     = "i" // of a return: the ID

	AttrRun    = "ru" // of a batch: the run that is at work on it, or has ended it; "" for one that ended with the batch neither done nor parked
	AttrTurn   = "tu" // of a batch: how often one run has taken it over from another; of an ID: which of them has taken it, see seed_loose.go
	AttrFrom   = "fr" // of a batch: the first chunk that may publish it; of a lock: where the last sweep stopped
	AttrMarked = "mi" // of a batch: how many of its IDs, from the first, have been put and may have been published
	AttrTried  = "tr" // of a batch: some of it may have been published
	AttrAgain  = "ag" // of a batch: it was carried to its end, and taken over after that
	AttrOthers = "ot" // of a batch: which of those others have put, a bit for each; absent for none
	AttrAvail  = "av" // of a sample: IDs available, or numbers left
)

// Values of AttrState in batches of a seeding job, and in the catalogue.
const (
	batchOpen   = "o"
	batchParked = "p" // of a batch with UpTo: some of it is not needed now; no run is at work or was ever cut off, and what was put is listed or let go
	batchDone   = "d"

	catalogueCreating = "c"
	catalogueLive     = "l"
)

// Values of AttrState in ID items.
const (
	StateFree      = "f"
	StateHeld      = "h"
	StateClaimed   = "c"
	StateReturning = "r"
	StateRetired   = "x"
	StateForgotten = "z" // taken from a pool with PolicyForget; TTL removes it
)

// Values of AttrPut.
const (
	putLoose  = "l"
	putPinned = "p"
)

// Values of AttrState in key records.
const (
	RecordLive   = "l"
	RecordEnded  = "e" // at least one of its IDs has come back or been retired
	RecordVoid   = "v" // given up while it owned something; does not expire
	RecordFailed = "f" // given up and owns nothing; counts as absent
)

// Values of AttrReason in return items.
const (
	ReasonRelease = "release" // its owner gave it back
	ReasonHold    = "hold"    // it comes back when its hold ends
	ReasonGivenUp = "givenup" // a batch without a key that could not be completed
	ReasonVoid    = "void"    // a keyed batch that could not be completed
)

func idKey(pool alloc.PoolName, id alloc.ID) Key {
	return Key{PK: "I#" + string(pool) + "#" + string(id), SK: skID}
}

func headKey(pool alloc.PoolName) Key { return Key{PK: "P#" + string(pool), SK: skHead} }

func rebuildKey(pool alloc.PoolName) Key { return Key{PK: "P#" + string(pool), SK: skRebuild} }

func rebuiltPageKey(pool alloc.PoolName, series, step int64) Key {
	return Key{PK: "P#" + string(pool) + "#" + strconv.FormatInt(series, 10), SK: fmt.Sprintf("%s#%06d", skRebuild, step)}
}

// backPageKey is where a step of a rebuild that looks back keeps what it has found: apart from the pages of the scan, as a process of a version that does not look
// back, and does the step of that number, takes those for its own.
func backPageKey(pool alloc.PoolName, series, step int64) Key {
	return Key{PK: rebuiltPageKey(pool, series, step).PK, SK: fmt.Sprintf("B#%06d", step)}
}

// rebuiltBatchKey is where a step of a rebuild says what it lists of the batches of a tag.
func rebuiltBatchKey(pool alloc.PoolName, series int64, tag string, step int64) Key {
	return Key{PK: rebuiltPageKey(pool, series, step).PK, SK: fmt.Sprintf("%s%06d", rebuiltBatchPrefix(tag), step)}
}

func rebuiltBatchPrefix(tag string) string { return "T#" + tag + "#" }

func sweepLockKey(pool alloc.PoolName) Key { return Key{PK: "P#" + string(pool), SK: skSweepLock} }

func chunkKey(pool alloc.PoolName, series, n int64) Key {
	return Key{PK: "P#" + string(pool) + "#" + strconv.FormatInt(series, 10) + "#" + strconv.FormatInt(n, 10), SK: skChunk}
}

func returnsPK(pool alloc.PoolName) string { return "P#" + string(pool) + "#R" }

func returnKey(pool alloc.PoolName, l listing) Key {
	return Key{PK: returnsPK(pool), SK: "I#" + string(l.id) + "#" + strconv.FormatInt(l.gen, 10)}
}

// voidsFrom is where the return items of void records begin: all IDs' come before.
const voidsFrom = "V#"

func voidKey(pool alloc.PoolName, hash, token string) Key {
	return Key{PK: returnsPK(pool), SK: "V#" + hash + "#" + token}
}

func samplesPK(pool alloc.PoolName) string { return "P#" + string(pool) + "#V" }

func catalogueKey(pool alloc.PoolName) Key { return Key{PK: pkPoolCatalogue, SK: string(pool)} }

func recordKey(hash string) Key { return Key{PK: "K#" + hash, SK: skKeyRecord} }

func batchKey(job string, pool alloc.PoolName, digest string) Key {
	return Key{PK: "J#" + job, SK: batchPrefix(pool) + digest}
}

func batchPrefix(pool alloc.PoolName) string { return "B#" + string(pool) + "#" }

// listing says that generation gen of an ID may be free: a hint, never a right. Whoever acts on it tests both.
type listing struct {
	id  alloc.ID
	gen int64
}

// String is the stored form, "generation ID" with the generation to base 36.
func (l listing) String() string { return strconv.FormatInt(l.gen, 36) + " " + string(l.id) }

func parseListing(s string) (listing, bool) {
	gen, id, ok := strings.Cut(s, " ")
	if !ok {
		return listing{}, false
	}
	g, err := strconv.ParseInt(gen, 36, 64)
	return listing{id: alloc.ID(id), gen: g}, err == nil && id != ""
}

// item begins an item with its key.
func item(k Key, attrs Item) Item {
	attrs[AttrPK], attrs[AttrSK] = k.PK, k.SK
	return attrs
}
