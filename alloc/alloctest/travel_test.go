package alloctest

import "testing"

// modelTravels is how many histories are played on the Model.
const modelTravels = 300

func TestModelTravelsInTime(t *testing.T) {
	RunTimeTravels(t, TimeTravels{Runs: modelTravels, Bubble: true}, modelFixture)
}
