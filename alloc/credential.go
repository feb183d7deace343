package alloc

import "time"

// CredentialID names a credential: 12 characters of a-z and 2-7. It is no secret.
type CredentialID string

// Bounds of a credential.
const (
	MaxScopes            = 50
	MaxQuota       Count = 1_000_000_000
	MaxOverlap           = 7 * 24 * time.Hour
	DefaultOverlap       = 24 * time.Hour
)

// Credential is what is stored of a bearer credential. Its secret is not: only hashes of it are.
type Credential struct {
	ID          CredentialID
	Client      ClientID // by the rule of CheckName; several credentials may be of one client
	Description string
	Scopes      []Scope
	Quota       Count // IDs and numbers that it may take in an hour, 1 to MaxQuota; 0 for no bound
	Version     Version
	Created     time.Time
	Expires     time.Time // zero for never
	Revoked     time.Time // zero if it is not

	Hash          string    // of the secret: SHA-256 in hexadecimal
	Rotated       time.Time // when Hash was made
	RotatedFor    Token     // the intent of the request that made Hash, so that a repeat of it is known; "" for none
	PreviousHash  string    // of the secret before the last rotation; "" for none
	PreviousUntil time.Time // when that ends
}
