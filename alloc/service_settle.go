package alloc

import "context"

// SettleRequest is what a client asks for IDs that it has taken.
type SettleRequest struct {
	Pool  PoolName
	Event Event
	IDs   []ID // exactly as the claim gave them
	Token Token
}

// Settle confirms, releases or retires; see Claims.Settle. Needs ActionClaim.
func (s *Service) Settle(ctx context.Context, r SettleRequest) (Settled, error) {
	if _, err := s.admit(ctx, ActionClaim, string(r.Pool)); err != nil {
		return Settled{}, err
	}
	o := SettleOrder(r)
	if err := CheckSettleOrder(o); err != nil {
		return Settled{}, err
	}
	return s.store.Settle(ctx, o)
}
