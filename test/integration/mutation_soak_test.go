package integration

import (
	"testing"

	"github.com/storagebench/storagebench/test/soak"
)

// TestMoreDamagedObjects is TestDamagedObjectsAreJudgedAlike with more damage.
func TestMoreDamagedObjects(t *testing.T) {
	soak.Only(t)
	judgesAlike(t, 100)
}
