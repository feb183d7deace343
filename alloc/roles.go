package alloc

import "fmt"

// Role is what somebody who is signed in to the dashboard may do.
type Role string

// The roles, each of which may do all that the one before may.
const (
	RoleViewer   Role = "viewer"   // looks at everything but credentials and the sessions of others
	RoleOperator Role = "operator" // claims, leases, releases, retires, pauses and resumes
	RoleAdmin    Role = "admin"    // everything
)

// Roles is every role, the one that may least first.
func Roles() []Role { return []Role{RoleViewer, RoleOperator, RoleAdmin} }

// Scopes is what the role permits; nothing for what is no role.
func (r Role) Scopes() []Scope {
	switch r {
	case RoleViewer:
		return everywhere(ActionRead)
	case RoleOperator:
		return everywhere(ActionRead, ActionClaim, ActionLease, ActionOperate)
	case RoleAdmin:
		return AllScopes()
	}
	return nil
}

// Check refuses what is no role: CodeForbidden, as whoever has none may do nothing.
func (r Role) Check() error {
	if r.Scopes() == nil {
		return Errorf(CodeForbidden, "none of your groups has a role here; ask an administrator of idpool for one of viewer, operator and admin")
	}
	return nil
}

// Includes reports whether the role may do all that the other may. Both are roles.
func (r Role) Includes(other Role) bool { return r.rank() >= other.rank() }

func (r Role) rank() int {
	for i, role := range Roles() {
		if r == role {
			return i
		}
	}
	panic(fmt.Sprintf("%q is no role", string(r)))
}

// everywhere is the scopes that permit the actions on everything.
func everywhere(actions ...Action) []Scope {
	scopes := make([]Scope, len(actions))
	for i, a := range actions {
		scopes[i] = Scope{Action: a, Pattern: everything}
	}
	return scopes
}
