package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// otherPrefix is the prefix of the names of all steps that the operator of otherPlanner plans.
const otherPrefix = "other-"

// otherPlanner builds an operator that plans other steps than this tree, loads its image and returns the image's
// reference.
func (in *installation) otherPlanner(t *testing.T) (reference string) {
	t.Helper()
	const file, now = "internal/plan/phase.go", `fmt.Sprintf("%02d-"`
	path := filepath.Join(in.root, file)
	text, err := os.ReadFile(path)
	must(t, err)
	if strings.Count(string(text), now) != 1 {
		t.Fatalf("%s has not got %s once", file, now)
	}
	folder := t.TempDir()
	changed, overlay := filepath.Join(folder, "phase.go"), filepath.Join(folder, "overlay.json")
	must(t, os.WriteFile(changed, []byte(strings.Replace(string(text), now, `fmt.Sprintf("`+otherPrefix+`%02d-"`, 1)), 0o600))
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{path: changed}})
	must(t, err)
	must(t, os.WriteFile(overlay, replace, 0o600))
	version, programs := in.version+"-other-planner", filepath.Join(in.programs, "other-planner")
	must(t, in.compile(t.Context(), version, programs, "-overlay", overlay))
	must(t, in.loadOperator(t.Context(), "operator-of-another-planner", version, programs))
	return "storagebench.invalid/operator:" + version
}
