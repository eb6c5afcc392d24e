package convert_test

import (
	"strings"
	"testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/convert"
)

// checkConverted checks that any input gives an error or profiles that the engine can render, and that notes remain
// comments in the YAML.
func checkConverted(t *testing.T, workloads []convert.Workload, err error) {
	t.Helper()
	if err != nil {
		if len(err.Error()) > 64<<10 {
			t.Errorf("an error of %d bytes", len(err.Error()))
		}
		return
	}
	if len(workloads) == 0 {
		t.Error("neither a workload nor an error")
	}
	text, err := convert.YAML(workloads, v1alpha1.WorkloadProfileKind)
	if err != nil {
		t.Fatal(err)
	}
	for i := range workloads {
		if fio := workloads[i].Spec.Fio; fio != nil {
			rendered(t, fio)
		}
	}
	documents := 1
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "---") {
			documents++
		}
		if strings.HasPrefix(line, "#") && strings.ContainsFunc(strings.TrimSuffix(line, "\n"), func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("a comment has a control character: %q", line)
		}
	}
	if documents != len(workloads) {
		t.Errorf("%d documents for %d workloads:\n%s", documents, len(workloads), text)
	}
}

func FuzzDiskSpd(f *testing.F) {
	for _, line := range []string{
		`diskspd.exe -d720 -r100 -w100 -t1 -o32 -b1M -Sr -L -c8G x`, `-c1G -b4K -F6 -O20 -rs40 -r -Su a b`, `-c1G -rdabs90/10M:0/10b -r -Z1M,f -i4 -j3 -g4i a`,
		`-c1G -ag0,1,g1,2 -si -t4 -Smw -Nv -B4K:1M -frst -I1 a`, `-c9999999999999T a`, `-X x`, `-r -r a`, "-c1G \n# x: y", `-b18446744073709551615 -c1 x`,
	} {
		f.Add(line, int64(0))
	}
	f.Fuzz(func(t *testing.T, line string, dataset int64) {
		workloads, err := convert.DiskSpd(strings.Split(line, " "), convert.Options{DatasetBytes: dataset})
		checkConverted(t, workloads, err)
	})
}
