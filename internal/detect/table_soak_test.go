package detect

import (
	"testing"

	"github.com/storagebench/storagebench/test/soak"
)

// manySeeds is the number of series per family behind the tables in docs/design/0034-detection.md.
const manySeeds = 1000

func TestTableInFull(t *testing.T) {
	soak.Only(t)
	tryFamilies(t, seedsOf(manySeeds))
}

func TestLiveTableInFull(t *testing.T) {
	soak.Only(t)
	watchFamilies(t, seedsOf(manySeeds))
}

func TestLiveSmallInFull(t *testing.T) {
	soak.Only(t)
	watchSmall(t, seedsOf(manySeeds))
}
