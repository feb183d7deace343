// Package generator makes IDs: random strings with a check character, numbers in a format, UUIDv7 and ULID. It knows how
// many there can be, says up front which configurations cannot work or would be unwise, and knows its own again. It
// keeps nothing and calls nobody: that no ID is made twice is for the pool to see to, which takes each only once.
package generator

// Kind is a way to make IDs.
type Kind string

// The kinds.
const (
	Random   Kind = "random"   // characters of an alphabet, each drawn by crypto/rand
	Sequence Kind = "sequence" // numbers of a sequence in a format
	UUIDv7   Kind = "uuidv7"   // RFC 9562, lower case with hyphens
	ULID     Kind = "ulid"     // 26 characters of Crockford's base 32, upper case
)

// CheckKind is a scheme for a check character.
type CheckKind string

// The schemes. A check character stands at the end. Each scheme shows every error of one character. Of neighbours that
// changed places Damm shows all, Luhn all but 09 and 90, and mod 37,36 all but one pair of 630 at each place.
const (
	CheckNone    CheckKind = ""
	CheckLuhn    CheckKind = "luhn"     // ISO/IEC 7812-1; an alphabet of decimal digits only
	CheckDamm    CheckKind = "damm"     // an alphabet of decimal digits only
	CheckMod3736 CheckKind = "mod37_36" // ISO 7064 hybrid system mod 37,36; an alphabet of digits and letters of one case
)

// Overflow is what becomes of a number with more digits than its format has places.
type Overflow string

// The ways. Either way numbers never repeat.
const (
	OverflowRefuse Overflow = "refuse" // none is made; the generator is dry until its period ends or its format is changed
	OverflowGrow   Overflow = "grow"   // it is written with as many digits as it has
)

// Config is a generator. It is a plain comparable value. The zero Config is no generator; the zero value of another field
// means its default. What a field's kind does not use must be left out.
type Config struct {
	Kind Kind

	// Of Random.
	Alphabet         string    // 2 to 64 distinct printable ASCII characters but space; default digits and upper-case letters, for luhn and damm digits
	Length           int       // characters drawn, without prefix, separators and check character, 1 to 64; default 12
	Prefix           string    // stands before every ID; up to 32 bytes
	Group            int       // a separator stands behind each so many characters, the check character counted, where more follow; 0 for none
	Separator        string    // one character, no letter or digit, that is not in the alphabet; default "-" where there are groups
	CheckChar        CheckKind // over the characters drawn, without prefix and separators; it may be one that is not in the alphabet
	WithoutAmbiguous bool      // takes 0 O o 1 I l L 2 Z z 5 S s 8 B and U u V v, where they are, out of the alphabet, and makes no ID whose check character is one; see RemoveAmbiguous
	Block            string    // up to 200 words of 2 or more characters, of letters and digits, separated by spaces; up to 2000 bytes. No ID has one, in whatever case, prefix and check character included, nor where separators stand within it

	// Of Sequence.
	Sequence string   // name of the sequence
	Format   string   // text with {n} or {n:W} (W: places, 1 to 19, filled with zeros) once, and {yyyy}, {yy}, {mm}, {dd} at will; up to 100 bytes
	Overflow Overflow // default OverflowRefuse
	TimeZone string   // IANA name by which periods begin; default UTC
}
