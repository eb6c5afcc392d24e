package cli_test

import (
	"strings"
	"testing"

	"github.com/storagebench/storagebench/test/golden"
)

func TestConvert(t *testing.T) {
	const job = "[readers]\nrw=randread\nbs=4k\ndirect=1\nioengine=libaio\niodepth=8\nnumjobs=2\nsize=1g\ntime_based\nruntime=60\n"
	for name, one := range map[string]struct {
		input     string
		arguments []string
	}{
		"help-convert":         {arguments: []string{"convert", "--help"}},
		"convert-diskspd":      {arguments: []string{"convert", "diskspd", "--name", "aws", "--", "diskspd.exe", "-d720", "-r100", "-w100", "-t1", "-o32", "-b1M", "-Sr", "-L", "-c8G", "x"}},
		"convert-diskspd-json": {arguments: []string{"convert", "diskspd", "-o", "json", "--dataset-size", "1Gi", "--", "-b4K", "-Su", "-C5", "x"}},
		"convert-fio-file":     {input: job, arguments: []string{"convert", "fio", "-f", "-", "--kind", "ClusterWorkloadProfile"}},
		"convert-ior":          {arguments: []string{"convert", "ior", "--", "mpirun", "-np", "8", "ior", "-w", "-F", "-t", "1m", "-b", "16m", "-l", "r"}},
		"convert-mdtest":       {arguments: []string{"convert", "mdtest", "--", "-n", "1000", "-u", "-F"}},
		"convert-no-tool":      {arguments: []string{"convert"}},
		"convert-unknown":      {arguments: []string{"convert", "iozone", "--", "-a"}},
		"convert-bad-name":     {arguments: []string{"convert", "fio", "--name", "A_b", "--", "--name=x"}},
		"convert-no-size":      {arguments: []string{"convert", "fio", "--", "--name=x", "--filename=/data/f"}},
		"convert-bad-size":     {arguments: []string{"convert", "fio", "--dataset-size", "many", "--", "--name=x"}},
		"convert-both":         {arguments: []string{"convert", "fio", "-f", "x", "--", "--name=x"}},
		"convert-no-such-file": {arguments: []string{"convert", "fio", "-f", "testdata/nothing.fio"}},
		"convert-ior-file":     {arguments: []string{"convert", "ior", "-f", "x"}},
	} {
		t.Run(name, func(t *testing.T) {
			golden.Check(t, name, call(one.input, one.arguments...).String())
		})
	}
}

// TestConvertLargeFile checks that a file above the size limit is rejected, not converted in part.
func TestConvertLargeFile(t *testing.T) {
	const job = "[a]\nrw=randread\nbs=4k\nioengine=libaio\nsize=1g\n"
	for size, code := range map[int]int{1 << 20: 0, 5 << 20: 1} {
		input := job + strings.Repeat("#", size-len(job))
		got := call(input, "convert", "fio", "-f", "-")
		if got.code != code || code != 0 && !strings.Contains(got.stderr, "larger than 4 MiB") {
			t.Errorf("%d bytes: exit code %d, %.200s", size, got.code, got.stderr)
		}
	}
}
