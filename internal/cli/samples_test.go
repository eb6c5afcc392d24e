package cli_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/storagebench/storagebench/test/golden"
)

// The samples of real systems, as users write them, and their twins can be planned; what a plan says of the real ones is
// what people go by when they reserve a day for it.
func TestPlansOfSystems(t *testing.T) {
	for _, name := range []string{"aws-fsx-windows", "aws-fsx-lustre-compression", "azure-p30-servers"} {
		t.Run(name, func(t *testing.T) {
			golden.Check(t, "plan-"+name, call("", "plan", "-f", filepath.Join("../../config/samples", name+".yaml")).String())
			twin := call("", "plan", "-f", filepath.Join("../../config/samples/twins", name+".yaml"))
			if twin.code != 0 || !strings.Contains(twin.stdout, "1 client per target") && !strings.Contains(twin.stdout, "4 clients per target") {
				t.Errorf("the twin: %s", twin)
			}
		})
	}
}
