package alloctest

import "testing"

func modelFixture(*testing.T) Fixture { return NewModel(nil).Fixture() }

func TestModelKeepsTheContract(t *testing.T) { Run(t, modelFixture) }

func TestModelAgreesWithItself(t *testing.T) { RunModel(t, modelFixture) }

func TestModelIsLinearizable(t *testing.T) { RunLinearizable(t, modelFixture) }
