package lab

import (
	"fmt"
	"strings"
	"testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/report"
	"github.com/storagebench/storagebench/test/lab"
	"github.com/storagebench/storagebench/test/soak"
)

// ext4 is a script that makes a file system on the first disk and mounts it.
var ext4 = fmt.Sprintf("mkfs.ext4 -q -E lazy_itable_init=1,lazy_journal_init=1 %[1]s && mount -t ext4 -o noinit_itable %[1]s /mnt && rmdir /mnt/lost+found || exit 9\n", lab.Path(0))

// TestControlGroup runs in a control group (version 2) with a fifth of a CPU. The result must warn that the client was
// throttled.
func TestControlGroup(t *testing.T) {
	machine := lab.Machine{Disks: []lab.Disk{{Bytes: 1 << 30}}, Programs: map[string]string{"kubectl-storagebench": commandLine(t)},
		Files: map[string]string{"bench.yaml": fmt.Sprintf(mixed, "20s")}}
	output := machine.Run(t, ext4+`mount -t cgroup2 cgroup2 /sys/fs/cgroup && echo +cpu +io +memory > /sys/fs/cgroup/cgroup.subtree_control && mkdir /sys/fs/cgroup/run || exit 9
echo "20000 100000" > /sys/fs/cgroup/run/cpu.max; echo 512M > /sys/fs/cgroup/run/memory.max
(echo 0 > /sys/fs/cgroup/run/cgroup.procs; exec kubectl-storagebench run --local -f /lab/bench.yaml --target data=/mnt -o json > result.json 2> said)
code=$?; tail -n 40 said; cat /sys/fs/cgroup/run/cpu.stat; echo LAB-RESULT; cat result.json; exit $code
`)
	said, text, _ := strings.Cut(output.Text, "LAB-RESULT\n")
	document, err := report.Read(strings.NewReader(text))
	if err != nil || len(document.Phases) != 2 {
		t.Fatalf("exit code %d, %v: %s", output.Code, err, said)
	}
	target := document.Phases[1].Targets[0]
	found := ""
	for _, warning := range target.Warnings {
		if warning.Type == v1alpha1.WarningClientCPUThrottled {
			found = warning.Message
		}
	}
	if found == "" {
		t.Errorf("the client had a fifth of a CPU, but the warnings are %+v\n%s", target.Warnings, said)
	}
	soak.Report(t, t.Name(), "%s", found)
}

// TestRefusals runs where the kernel refuses the I/O. The run must fail with the cause and the remedy, and leave
// nothing.
func TestRefusals(t *testing.T) {
	for _, test := range []struct {
		name, before, benchmark string
		disk                    lab.Disk
		want                    []string
	}{
		{"no asynchronous I/O", ext4 + "echo 0 > /proc/sys/fs/aio-max-nr", fmt.Sprintf(mixed, "5s"), lab.Disk{Bytes: 1 << 30}, []string{"aio-max-nr"}},
		{"no direct I/O", "mount -t tmpfs tmpfs /mnt", fmt.Sprintf(mixed, "5s"), lab.Disk{Bytes: 1 << 20}, []string{"direct"}},
		{"blocks below the sector", ext4, strings.Replace(fmt.Sprintf(mixed, "5s"), "blockSize: 64Ki", "blockSize: 512", 1), lab.Disk{Bytes: 1 << 30, SectorBytes: 4096},
			[]string{"blockSize", "sector size"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			machine := lab.Machine{Disks: []lab.Disk{test.disk}, Programs: map[string]string{"kubectl-storagebench": commandLine(t)}, Files: map[string]string{"bench.yaml": test.benchmark}}
			output := machine.Run(t, test.before+`
kubectl-storagebench run --local -f /lab/bench.yaml --target data=/mnt 2>&1
code=$?; find /mnt -mindepth 1 | sed 's/^/LAB-LEFT /'; exit $code
`)
			if output.Code == 0 || strings.Contains(output.Text, "LAB-LEFT") {
				t.Errorf("exit code %d, want a failure that leaves nothing: %s", output.Code, output.Text)
			}
			for _, want := range test.want {
				if !strings.Contains(output.Text, want) {
					t.Errorf("the output does not contain %q: %s", want, output.Text)
				}
			}
			soak.Report(t, t.Name(), "exit code %d: %s", output.Code, lastError(output.Text))
		})
	}
}

// TestLargeSectors runs with blocks of 4096 bytes on disks with sectors of that size.
func TestLargeSectors(t *testing.T) {
	for _, bus := range []lab.Bus{lab.Virtio, lab.SCSI, lab.NVMe} {
		t.Run(string(bus), func(t *testing.T) {
			status := run(t, lab.Machine{Disks: []lab.Disk{{Bytes: 1 << 30, Bus: bus, SectorBytes: 4096}}}, ext4,
				strings.Replace(fmt.Sprintf(mixed, "5s"), "blockSize: 64Ki", "blockSize: 4Ki", 1))
			for _, one := range status.Phases[1].Targets[0].Operations {
				if one.Operations == 0 || one.Bytes != 4096*one.Operations {
					t.Errorf("%s: %d bytes in %d operations", one.Operation, one.Bytes, one.Operations)
				}
			}
		})
	}
}
