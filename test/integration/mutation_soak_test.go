package integration

import (
	"testing"

	"github.com/storagebench/storagebench/test/soak"
)

// TestMoreDamagedObjects is TestDamagedObjectsAreJudgedAlike with more damaged objects per case.
func TestMoreDamagedObjects(t *testing.T) {
	soak.Only(t)
	judgesAlike(t, 100)
}
