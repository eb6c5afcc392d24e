package agent

import (
	"testing"
	"time"

	"github.com/storagebench/storagebench/test/soak"
)

func TestFailuresHarmNobodysFilesOfManyTrees(t *testing.T) {
	soak.Only(t)
	harmTrees(t, 200, 30*time.Second)
}
