package integration

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/admission"
	"github.com/storagebench/storagebench/internal/admission/admissiontest"
)

// TestDamagedObjectsAreJudgedAlike damages accepted objects at random and checks that the API server and
// admission.Check agree on each. Hand-written cases cover only what their authors thought of.
func TestDamagedObjectsAreJudgedAlike(t *testing.T) { judgesAlike(t, 25) }

func judgesAlike(t *testing.T, damagedPerCase int) {
	t.Helper()
	needsCluster(t)
	cases, err := admissiontest.Accepted()
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(2026, 11))
	accepted, refused := 0, 0
	for _, c := range cases {
		for range damagedPerCase {
			object := runtime.DeepCopyJSON(c.Object)
			var what string
			for range 1 + random.IntN(2) {
				what += damage(random, object) + "; "
			}
			input, err := json.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			_, theirs := create(t, object)
			problems, err := admission.Check(t.Context(), object)
			if err != nil {
				t.Fatal(err)
			}
			if (theirs == nil) != (len(problems) == 0) {
				t.Errorf("%s, %s\nAPI server: %v\nwithout: %v\n%s", c.Name, what, theirs, problems, input)
			}
			if theirs == nil {
				accepted++
				toTyped(t, object)
			} else {
				refused++
			}
		}
	}
	t.Logf("%d accepted, %d refused", accepted, refused)
	if accepted < 20 || refused < 20 {
		t.Errorf("%d accepted, %d refused: the damage is too great or too small to tell anything", accepted, refused)
	}
}

// toTyped checks that Go clients can read what the API server accepts. A single stored object that they cannot read
// would stop every controller that lists its kind.
func toTyped(t *testing.T, object map[string]any) {
	t.Helper()
	kind, _ := object["kind"].(string)
	typed, err := cluster.Scheme().New(v1alpha1.GroupVersion.WithKind(kind))
	if err != nil {
		t.Fatal(err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, typed); err != nil {
		t.Errorf("accepted, but no Go client can read it: %v\n%v", err, object)
	}
}

// damage changes a random field below spec and returns what it did.
func damage(random *rand.Rand, object map[string]any) string {
	var container = object["spec"]
	for {
		switch at := container.(type) {
		case map[string]any:
			if len(at) == 0 {
				at["odd"] = "x"
				return "added odd"
			}
			names := slices.Sorted(maps.Keys(at))
			name := names[random.IntN(len(names))]
			if isContainer(at[name]) && random.IntN(5) > 0 {
				container = at[name]
				continue
			}
			if random.IntN(4) == 0 {
				delete(at, name)
				return "removed " + name
			}
			at[name] = oddValue(random)
			return fmt.Sprintf("set %s to %v", name, at[name])
		case []any:
			if len(at) == 0 {
				return "nothing"
			}
			index := random.IntN(len(at))
			if isContainer(at[index]) && random.IntN(5) > 0 {
				container = at[index]
				continue
			}
			at[index] = oddValue(random)
			return fmt.Sprintf("set index %d to %v", index, at[index])
		default:
			return "nothing"
		}
	}
}

func isContainer(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

func oddValue(random *rand.Rand) any {
	values := []any{
		nil, true, int64(0), int64(-1), int64(7), int64(1) << 40, 1.5, "", "x", "a b", "5m", "0s", "200h", "4Ki", "1e3", "-4Ki",
		"1e99", "1000000000000000000000", "512", "../x", "Random", "Write", "Any", []any{}, []any{"x"}, map[string]any{}, map[string]any{"name": "x"},
	}
	return runtime.DeepCopyJSONValue(values[random.IntN(len(values))])
}
