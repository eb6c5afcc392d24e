package lab

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/report"
	"github.com/storagebench/storagebench/test/lab"
	"github.com/storagebench/storagebench/test/soak"
)

func TestMain(m *testing.M) { soak.Main(m) }

// commandLine builds kubectl-storagebench for machines, without cgo and debug information, and returns its path.
func commandLine(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubectl-storagebench")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, "../../../cmd/kubectl-storagebench")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	return path
}

// run boots a machine, runs a benchmark on /mnt after the commands in before, and returns the result.
func run(t *testing.T, machine lab.Machine, before, benchmark string) v1alpha1.BenchmarkRunStatus {
	t.Helper()
	machine.Programs = map[string]string{"kubectl-storagebench": commandLine(t)}
	machine.Files = map[string]string{"bench.yaml": benchmark}
	output := machine.Run(t, before+`
kubectl-storagebench run --local -f /lab/bench.yaml --target data=/mnt -o json > result.json 2> said
code=$?; tail -n 40 said; echo LAB-RESULT; cat result.json; echo LAB-RESULT; find /mnt -mindepth 1 -not -name lost+found; exit $code
`)
	said, rest, _ := strings.Cut(output.Text, "LAB-RESULT\n")
	result, left, _ := strings.Cut(rest, "LAB-RESULT")
	if left = strings.TrimSpace(left); left != "" {
		t.Errorf("the run left %s", left)
	}
	document, err := report.Read(strings.NewReader(result))
	if err != nil {
		t.Fatalf("exit code %d, no result (%v): %s", output.Code, err, said)
	}
	if !meta.IsStatusConditionTrue(document.Conditions, v1alpha1.ConditionComplete) {
		t.Fatalf("the run is not complete: %+v\n%s", document.Conditions, said)
	}
	return document.BenchmarkRunStatus
}

// TestMachine checks the machines that the tests use: a machine returns the output and exit code of its script, and has
// its disks, kernel modules and the programs of packages. Its kernel and QEMU count the same bytes for each disk.
func TestMachine(t *testing.T) {
	machine := lab.Machine{Files: map[string]string{"words": "of a file"}, Disks: []lab.Disk{
		{Bytes: 64 << 20}, {Bytes: 64 << 20, Bus: lab.SCSI}, {Bytes: 64 << 20, Bus: lab.NVMe, SectorBytes: 4096}, {Bytes: 64 << 20, Bus: lab.Virtio}}}
	script := "cat /lab/words; modprobe cifs && grep -c cifs /proc/filesystems; fio --version"
	for i := range machine.Disks {
		script += fmt.Sprintf("\ncat /sys/block/$(basename $(readlink %[1]s))/queue/logical_block_size; dd if=/dev/zero of=%[1]s bs=1M count=%[2]d oflag=direct 2>&1 || exit 1",
			lab.Path(i), i+1)
	}
	output := machine.Run(t, script+"\nexit 7")
	if output.Code != 7 || !strings.HasPrefix(output.Text, "of a file") || !strings.Contains(output.Text, "\nfio-") || !strings.Contains(output.Text, "\n4096\n") {
		t.Errorf("exit code %d: %s", output.Code, output.Text)
	}
	for i, counted := range output.Guest {
		if want := int64(i+1) << 20; counted.WriteBytes != want || output.Host[i].WriteBytes != want {
			t.Errorf("disk %d: %d bytes were written; its kernel counted %+v, QEMU %+v", i, want, counted, output.Host[i])
		}
	}
}

// quickstart is a small version of the benchmark of the quick start: two fio clients lay out, write and read.
const quickstart = `apiVersion: storagebench.dev/v1alpha1
kind: StorageBenchmark
metadata: {name: smb}
spec:
  run:
    targets:
    - {name: data, volumes: [{name: data, claimName: data}]}
    clients: {count: 2, spread: Any}
    workload:
      fio: {pattern: Random, readPercent: 0, blockSize: 64Ki, jobs: 1, queueDepth: 8, datasetSize: 16Mi}
    phases:
    - {name: layout, prepare: {}}
    - {name: write, steady: {duration: 5s, warmUp: 1s}}
    - name: read
      workload: {fio: {pattern: Random, readPercent: 100, blockSize: 64Ki, jobs: 1, queueDepth: 8, datasetSize: 16Mi}}
      steady: {duration: 5s, warmUp: 1s}
`

// shareRun runs the quick start on a mounted share. No warning may doubt that the dataset was written.
func shareRun(t *testing.T, mount string) {
	t.Helper()
	status := run(t, lab.Machine{}, mount+" || exit 9", quickstart)
	for _, phase := range status.Phases {
		for _, target := range phase.Targets {
			for _, warning := range target.Warnings {
				if warning.Type == v1alpha1.WarningUnwrittenDataRead || warning.Type == v1alpha1.WarningWrittenUnknown {
					t.Errorf("%s: %s: %s", phase.Name, warning.Type, warning.Message)
				}
			}
			for _, one := range target.Operations {
				title := fmt.Sprintf("%s, %s, %s", t.Name(), phase.Name, one.Operation)
				soak.Report(t, title, "%d bytes in %d operations", one.Bytes, one.Operations)
			}
		}
	}
}

// TestSMB runs on real SMB mounts. The run must complete and detect which data was written, although the kernel's
// client is late to report the blocks of files.
func TestSMB(t *testing.T) {
	for name, options := range map[string]string{
		"default mount options": "",
		// The mount options in the examples of csi-driver-smb and azurefile-csi-driver.
		"options of drivers": ",noserverino,mfsymlinks,cache=strict,nosharesock,nobrl,actimeo=30",
		"no attribute cache": ",cache=none,actimeo=0",
		"no locks":           ",nobrl",
		"signed and sealed":  ",seal",
	} {
		t.Run(name, func(t *testing.T) {
			samba := lab.StartSamba(t, lab.Share{})
			shareRun(t, samba.Command("/mnt", options))
		})
	}
}

// TestNFS runs on real NFS mounts. The server is the kernel's, on a second machine.
func TestNFS(t *testing.T) {
	server := lab.StartNFS(t, lab.Disk{Bytes: 4 << 30})
	for _, options := range []string{
		"vers=4.2", "vers=4.1", "vers=3", "vers=4.2,noac", "vers=4.2,soft,timeo=100", "vers=4.1,hard,nconnect=4",
		// The mount options of efs-utils and of the documentation of FSx for OpenZFS.
		"vers=4.1,rsize=1048576,wsize=1048576,hard,timeo=600,retrans=2,noresvport",
	} {
		t.Run(options, func(t *testing.T) { shareRun(t, server.Command("/mnt", options)) })
	}
}

const drain = `apiVersion: storagebench.dev/v1alpha1
kind: StorageBenchmark
metadata: {name: disk}
spec:
  run:
    targets:
    - {name: data, volumes: [{name: data, claimName: data}]}
    clients: {count: 1}
    workload:
      fio: {pattern: Sequential, readPercent: 0, blockSize: 1Mi, jobs: 1, queueDepth: 8, datasetSize: 256Mi}
    phases:
    - {name: burst, burstDrain: {minDuration: %[1]s, maxDuration: %[1]s}}
`

// TestThrottledDisk drains a disk that QEMU throttles: a bucket of 60 MB/s × 15 s leaks at 8 MB/s, and fills while the
// rate is 60 MB/s. The length of the drain must not change the result.
func TestThrottledDisk(t *testing.T) {
	for _, length := range []string{"90s", "3m"} {
		t.Run(length, func(t *testing.T) {
			machine := lab.Machine{Disks: []lab.Disk{{Bytes: 4 << 30, Throttling: map[string]int64{
				"bps-write": 8_000_000, "bps-write-max": 60_000_000, "bps-write-max-length": 15}}}}
			// mkfs writes some megabytes, which have leaked out of the bucket after two seconds.
			status := run(t, machine, "mkfs.ext4 -q -E lazy_itable_init=1,lazy_journal_init=1 /dev/vda && mount -t ext4 -o noinit_itable /dev/vda /mnt && rmdir /mnt/lost+found || exit 9; sleep 2", fmt.Sprintf(drain, length))
			burst := status.Phases[0].Targets[0].Burst
			if burst == nil || !burst.Exhausted || burst.Bytes == nil {
				t.Fatalf("the burst credits ran out, but the result is %+v", burst)
			}
			near(t, "burst", burst.Bytes.Burst.Value, 60_000_000)
			near(t, "baseline", burst.Bytes.Baseline.Value, 8_000_000)
			soak.Report(t, "throttled disk, "+length, "burst %d, baseline %d bytes/s", burst.Bytes.Burst.Value, burst.Bytes.Baseline.Value)
		})
	}
}

// near fails the test if got differs from want by more than 2 %.
func near(t *testing.T, what string, got, want int64) {
	t.Helper()
	if off := float64(got)/float64(want) - 1; off < -0.02 || off > 0.02 {
		t.Errorf("%s: %d, want %d", what, got, want)
	}
}
