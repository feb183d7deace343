package generator

import "fmt"

// Verify refuses an ID that the generator could not have made, and says why: another form, a wrong check character, a blocked word. It
// knows nothing of which were made. What it reads may be anything.
func (c Config) Verify(id string) error {
	c = c.WithDefaults()
	if err := c.checkFields(); err != nil {
		return err
	}
	var err error
	switch c.Kind {
	case Random:
		err = c.verifyRandom(id)
	case Sequence:
		err = c.verifyNumber(id)
	case UUIDv7:
		err = verifyUUID(id)
	case ULID:
		err = verifyULID(id)
	}
	if err != nil {
		return fmt.Errorf("the generator does not make %q: %w", short(id), err)
	}
	return nil
}
