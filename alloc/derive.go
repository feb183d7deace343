package alloc

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
)

// DeriveKey returns 32 bytes that all processes over one Store derive alike of the secret that they share, a key of its own for
// each purpose. Whoever mounts pages seals with them what a browser is to bring back.
func (s *Service) DeriveKey(ctx context.Context, purpose string) ([]byte, error) {
	secret, err := s.store.SharedSecret(ctx)
	if err != nil {
		return nil, err
	}
	key, err := hkdf.Key(sha256.New, secret, nil, "idpool "+purpose, 32)
	if err != nil {
		return nil, Errorf(CodeInternal, "no key can be derived of the store's shared secret").Because(err)
	}
	return key, nil
}
