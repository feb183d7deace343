package alloc

// ForecastOf, BurnsUpTo and MostOf are for tests of the arithmetic.
var (
	ForecastOf = forecastOf
	BurnsUpTo  = burnsUpTo
	MostOf     = mostOf
)

// Levels are the marks in IDs at the rates.
func (c PoolConfig) Levels(burns []Burn) (low, target Count) { return c.levels(burns) }

// Words is the configuration as the trail has it.
func (c PoolConfig) Words() string { return c.words() }
