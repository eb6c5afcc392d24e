package cli_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/storagebench/storagebench/test/golden"
)

// TestPlansOfSystems checks that the samples of real systems and their twins can be planned. Users rely on the plans of
// the real ones to reserve time, for example a day.
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

// TestPlansOfSamples checks that a plan describes a search, a phase with neighbours and a phase of small files, and
// shows the queries of observations.
func TestPlansOfSamples(t *testing.T) {
	for _, name := range []string{"search", "interference", "small-files", "observations"} {
		golden.Check(t, "plan-"+name, call("", "plan", "-f", "../../config/samples/"+name+".yaml").String())
	}
}
