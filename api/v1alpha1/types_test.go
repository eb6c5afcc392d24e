package v1alpha1_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

func TestTruncate(t *testing.T) {
	for _, test := range []struct {
		text   string
		length int
		want   string
	}{
		{"short", 10, "short"},
		{"exactly ten", 11, "exactly ten"},
		{"one too many", 11, "one too ..."},
		{"éééééééé", 8, "éééééééé"},
		{"ééééééééé", 8, "ééééé..."},
		{"abcdef", 3, "..."},
		{"abcdef", 2, "ab"},
		{"abc", 0, ""},
		{"", 5, ""},
		{"a\xffb", 5, "a\uFFFDb"},
	} {
		got := v1alpha1.Truncate(test.text, test.length)
		if got != test.want {
			t.Errorf("%q to %d: %q, want %q", test.text, test.length, got, test.want)
		}
		if count := utf8.RuneCountInString(got); count > test.length {
			t.Errorf("%q to %d has %d characters", test.text, test.length, count)
		}
	}
}

func TestNewWarningFitsTheAPI(t *testing.T) {
	clients := make([]int32, 100)
	for i := range clients {
		clients[i] = int32(i)
	}
	warning := v1alpha1.NewWarning(v1alpha1.WarningClientLost, v1alpha1.PhaseSteady, strings.Repeat("x", 1000), clients...)
	if len(warning.Message) != 512 || len(warning.Clients) != 16 {
		t.Errorf("message of %d, %d clients; the API takes 512 and 16", len(warning.Message), len(warning.Clients))
	}
	if warning.Severity != v1alpha1.SeverityDisqualifying {
		t.Errorf("severity is %s", warning.Severity)
	}
	if warning.Clients[0] = 99; clients[0] == 99 {
		t.Error("the warning shares the caller's slice")
	}
}

func TestKindsOfPhases(t *testing.T) {
	kinds := map[string]v1alpha1.PhaseKind{
		"prepare": v1alpha1.PhasePrepare, "ramp": v1alpha1.PhaseRamp, "sweep": v1alpha1.PhaseSweep,
		"steady": v1alpha1.PhaseSteady, "burstDrain": v1alpha1.PhaseBurstDrain, "cooldown": v1alpha1.PhaseCooldown,
		"refill": v1alpha1.PhaseCooldown, "smallFiles": v1alpha1.PhaseSmallFiles, "search": v1alpha1.PhaseSearch,
		"interference": v1alpha1.PhaseInterference,
	}
	for field, want := range kinds {
		var phase v1alpha1.Phase
		if err := json.Unmarshal([]byte(`{"`+field+`": {}}`), &phase); err != nil {
			t.Fatal(err)
		}
		if got := phase.Kind(); got != want {
			t.Errorf("%s: %q, want %q", field, got, want)
		}
	}
	if got := (&v1alpha1.Phase{}).Kind(); got != "" {
		t.Errorf("a phase of no kind is %q", got)
	}
	// Every other pointer field of a phase is a kind. This fails for a new field until one of the tables lists it.
	noKinds := []string{"workload", "override"}
	for field := range reflect.TypeFor[v1alpha1.Phase]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if _, listed := kinds[name]; field.Type.Kind() == reflect.Pointer && !listed && !slices.Contains(noKinds, name) {
			t.Errorf("phases have the field %s, which is in neither table: add it with its kind, or as no kind", name)
		}
	}
}

// TestEngineIsInline checks that the engine is a field at the top level of a workload, and of a profile.
func TestEngineIsInline(t *testing.T) {
	for _, kind := range []v1alpha1.EngineKind{v1alpha1.EngineFio, v1alpha1.EngineIOR, v1alpha1.EngineMdtest, v1alpha1.EngineCommand} {
		var workload v1alpha1.Workload
		if err := json.Unmarshal([]byte(`{"`+string(kind)+`": {}}`), &workload); err != nil {
			t.Fatal(err)
		}
		if got := workload.EngineKind(); got != kind {
			t.Errorf("%s: %q", kind, got)
		}
		profile := v1alpha1.WorkloadProfileSpec{Engine: workload.Engine}
		text, err := json.Marshal(profile)
		if err != nil || !strings.HasPrefix(string(text), `{"`+string(kind)+`":`) {
			t.Errorf("a profile of %s is written %s, %v", kind, text, err)
		}
	}
}

func TestSchemeKnowsEveryKind(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	known := scheme.KnownTypes(v1alpha1.GroupVersion)
	for _, kind := range []string{v1alpha1.StorageBenchmarkKind, v1alpha1.WorkloadProfileKind, v1alpha1.ClusterWorkloadProfileKind, v1alpha1.BenchmarkRunKind} {
		for _, name := range []string{kind, kind + "List"} {
			if _, ok := known[name]; !ok {
				t.Errorf("%s is not registered", name)
			}
		}
	}
}

// TestZeroFiguresAreWritten checks that the JSON contains figures that are zero.
func TestZeroFiguresAreWritten(t *testing.T) {
	text, err := json.Marshal(v1alpha1.OperationResult{Operation: v1alpha1.OperationRead, BytesPerSecond: new(int64), Latency: &v1alpha1.LatencyResult{}})
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bytes", "operations", "bytesPerSecond"} {
		if _, ok := fields[name]; !ok {
			t.Errorf("%s is left out of %s", name, text)
		}
	}
	latency, _ := fields["latency"].(map[string]any)
	if !slices.Contains([]any{float64(0)}, latency["samples"]) {
		t.Errorf("samples is left out of %s", text)
	}
	if _, ok := latency["p99Nanoseconds"]; ok {
		t.Errorf("an unknown percentile is written: %s", text)
	}
}
