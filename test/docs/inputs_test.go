package docs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// inputs maps the files that documented commands read to their sources in the repository.
var inputs = map[string]string{
	"result.json":   "internal/cli/testdata/result-a.json",
	"before.json":   "internal/cli/testdata/result-a.json",
	"after.json":    "internal/cli/testdata/result-b.json",
	"bench.yaml":    "config/samples/quickstart.yaml",
	"drain.json":    "test/docs/testdata/drain.json",
	"lustre.json":   "test/docs/testdata/lustre.json",
	"local.json":    "internal/cli/testdata/result-a.json",
	"cluster.json":  "internal/cli/testdata/result-b.json",
	"nightly.yaml":  "config/samples/quickstart.yaml",
	"client-0.json": "internal/engine/fio/testdata/runs/write.stdout",
	"client-1.json": "internal/engine/fio/testdata/runs/write.stdout",
	"ior.out":       "internal/engine/ior/testdata/runs/4.0.0/csv.out",
	"mdtest.out":    "internal/engine/ior/testdata/runs/4.0.0/mdtest-files-dirs.out",
}

// written holds the inputs that have no source in the repository.
var written = map[string]string{
	"drain.csv": series(600, func(second int) int { return 32_000_000 + 255_000_000*max(0, min(1, 300-second)) }),
	"run.csv":   series(900, func(second int) int { return 100_000_000 + 500_000*(second*7%11) }),
	"ramp.csv":  "load,bytes_per_second\n1,100e6\n2,198e6\n4,380e6\n8,610e6\n16,700e6\n32,702e6\n",
	"job.fio":   "[global]\ndirect=1\nsize=1g\n[reads]\nrw=randread\nbs=4k\niodepth=16\n",
}

func series(seconds int, rate func(second int) int) string {
	var b strings.Builder
	b.WriteString("seconds,bytes_per_second\n")
	for second := range seconds {
		fmt.Fprintf(&b, "%d,%d\n", second, rate(second))
	}
	return b.String()
}

// fill writes the inputs into the scratch directory.
func (s *scratch) fill(string) {
	s.t.Helper()
	for name, from := range inputs {
		text, err := os.ReadFile(filepath.Join(root, from))
		if err != nil {
			s.t.Fatal(err)
		}
		s.write(name, text)
	}
	for name, text := range written {
		s.write(name, []byte(text))
	}
}

func (s *scratch) write(name string, text []byte) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.folder, name), text, 0o644); err != nil {
		s.t.Fatal(err)
	}
}
