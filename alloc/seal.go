package alloc

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"strings"
	"time"
)

// sealedVersion is the first byte of what Seal gives; cursors have another.
const sealedVersion = 3

// Seal makes of a text what anybody may carry about and nobody can read, change or make up, such as a form's field or a cookie. Unseal
// gives the text back, in every process, until the time is over; for this purpose only.
func (s *Service) Seal(ctx context.Context, purpose string, text []byte, until time.Time) (string, error) {
	aead, err := s.cursors.cipher(ctx)
	if err != nil {
		return "", err
	}
	dated := binary.BigEndian.AppendUint64(nil, uint64(until.Unix())) //nolint:gosec // a time is kept as it is, also from before 1970
	sealed := aead.Seal([]byte{sealedVersion}, nil, append(dated, text...), sealedFor(purpose))
	return base64.RawURLEncoding.EncodeToString(sealed), nil
}

// Unseal returns the text of what Seal made for the purpose. CodeInvalidRequest for anything else, and when its time is over.
func (s *Service) Unseal(ctx context.Context, purpose, sealed string) ([]byte, error) {
	bad := Errorf(CodeInvalidRequest, "this was not made here, or its time is over; begin anew")
	raw, err := base64.RawURLEncoding.Strict().DecodeString(sealed)
	if err != nil || strings.ContainsAny(sealed, "\r\n") || len(raw) < 1+cursorOverhead+8 || raw[0] != sealedVersion {
		return nil, bad
	}
	aead, err := s.cursors.cipher(ctx)
	if err != nil {
		return nil, err
	}
	dated, err := aead.Open(nil, nil, raw[1:], sealedFor(purpose))
	if err != nil {
		return nil, bad
	}
	until := time.Unix(int64(binary.BigEndian.Uint64(dated)), 0) //nolint:gosec // as in Seal
	if !s.now().Before(until) {
		return nil, bad
	}
	return dated[8:], nil
}

func sealedFor(purpose string) []byte { return hash([]string{"sealed", purpose}) }
