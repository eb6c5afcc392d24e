package local

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/library"
)

// TestLibrary runs every fio profile of the library for a second on little data, several of them at a time: each is the
// workload of a target. The command line finds the profiles without a cluster.
func TestLibrary(t *testing.T) {
	t.Parallel()
	all, err := library.Profiles()
	if err != nil {
		t.Fatal(err)
	}
	var loads []string
	var names []string
	for _, one := range all {
		if one.Spec.EngineKind() == v1alpha1.EngineFio {
			names, loads = append(names, one.Name), append(loads, loadOf(t, one))
		}
	}
	const most = 9 // the API allows 16 targets, but the machine has few processors
	for first := 0; first < len(names); first += most {
		chosen := names[first:min(first+most, len(names))]
		t.Run(strings.Join(chosen, " "), func(t *testing.T) { runLoads(t, chosen, loads[first:]) })
	}
}

// loadOf returns a workload that refers to a profile, with little data. The sizes of a job file are in the file, so the
// workload contains a copy of it with smaller sizes.
func loadOf(t *testing.T, profile library.Profile) string {
	t.Helper()
	fio := profile.Spec.Fio
	if fio.JobFile != "" {
		file, bytes := strings.Replace(fio.JobFile, "size=4g", "size=64m", 1), int64(64<<20)
		if strings.Contains(file, "nrfiles=") { // a hundredth of the files; all counts are multiples of 100
			file, bytes = strings.ReplaceAll(fio.JobFile, "00\nfilesize=", "\nfilesize="), fio.DatasetSize.Value()/100
		}
		if file == fio.JobFile {
			t.Fatalf("the job file of %s has another size than the test knows", profile.Name)
		}
		return fmt.Sprintf("{fio: {datasetSize: %q, jobFile: %q}}", fmt.Sprint(bytes), file)
	}
	size := ""
	if fio.DatasetSize.Value() > 64<<20 {
		size = ", datasetSize: 42Mi"
		if fio.FilesPerJob != nil && *fio.FilesPerJob > 16 {
			size = ", datasetSize: 168Mi" // a multiple of the jobs and files of each such profile
		}
	}
	return fmt.Sprintf("{profileRef: {kind: ClusterWorkloadProfile, name: %s%s}}", profile.Name, size)
}

func runLoads(t *testing.T, names, loads []string) {
	t.Helper()
	var targets, workloads strings.Builder
	arguments := []string{"run", "--local", "-o", "json"}
	for i, name := range names {
		fmt.Fprintf(&targets, "    - {name: %s, volumes: [{name: data, claimName: %s}]}\n", name, name)
		fmt.Fprintf(&workloads, "      - {target: %s, workload: %s}\n", name, loads[i])
		arguments = append(arguments, "--target", name+"="+t.TempDir())
	}
	file := filepath.Join(t.TempDir(), "library.yaml")
	text := "apiVersion: storagebench.dev/v1alpha1\nkind: StorageBenchmark\nmetadata: {name: library}\nspec:\n  run:\n    targets:\n" + targets.String() +
		"    phases:\n    - name: layout\n      prepare: {}\n      targetWorkloads:\n" + workloads.String() +
		"    - name: measure\n      steady: {duration: 1s}\n      targetWorkloads:\n" + workloads.String()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	got := Call(t, append(arguments, "-f", file)...)
	measured := ValidButForLoad(t, got).Phases[1]
	for _, name := range names {
		i := slices.IndexFunc(measured.Targets, func(one v1alpha1.TargetResult) bool { return one.Target == name })
		if i < 0 || len(measured.Targets[i].Operations) == 0 {
			t.Errorf("there is no result of %s", name)
		}
	}
}
