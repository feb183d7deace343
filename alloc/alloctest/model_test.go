package alloctest

import "testing"

func TestModelKeepsTheContract(t *testing.T) {
	Run(t, func(*testing.T) Fixture { return NewModel(nil).Fixture() })
}
