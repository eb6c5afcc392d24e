package chaos

import (
	"testing"

	"github.com/storagebench/storagebench/test/soak"
)

func TestMain(m *testing.M) { soak.Main(m) }
