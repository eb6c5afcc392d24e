package lab

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/test/lab"
	"github.com/storagebench/storagebench/test/soak"
)

// steady writes and reads 64 MiB at a queue depth of 8.
const steady = `apiVersion: storagebench.dev/v1alpha1
kind: StorageBenchmark
metadata: {name: steady}
spec:
  run:
    targets:
    - {name: data, volumes: [{name: data, claimName: data}]}
    clients: {count: 1}
    workload:
      fio: {pattern: Random, readPercent: 100, blockSize: 64Ki, jobs: 1, queueDepth: 8, datasetSize: 64Mi}
    phases:
    - {name: layout, prepare: {}}
    - {name: read, steady: {duration: 20s}}
`

// TestDelayedDisk measures a disk that the kernel's dm-delay delays by 50 ms per operation. No latency may be shorter,
// and the IOPS must equal the queue depth divided by the mean latency (Little's law).
func TestDelayedDisk(t *testing.T) {
	const delay = 50 * time.Millisecond
	status := run(t, lab.Machine{Disks: []lab.Disk{{Bytes: 1 << 30}}}, fmt.Sprintf(`modprobe dm-delay
dmsetup --noudevsync --noudevrules create slow --table "0 $(cat /sys/block/$(basename $(readlink %[1]s))/size) delay %[1]s 0 %[2]d" || exit 9
mkfs.ext4 -q -E lazy_itable_init=1,lazy_journal_init=1 /dev/dm-0 && mount -t ext4 -o noinit_itable /dev/dm-0 /mnt || exit 9
rmdir /mnt/lost+found`, lab.Path(0), delay.Milliseconds()), steady)
	read := status.Phases[1].Targets[0].Operations[0]
	if read.Latency == nil || read.IOPSMilli == nil || read.Latency.P50Nanoseconds == nil {
		t.Fatalf("no figures: %+v", read)
	}
	// The kernel's timers have a resolution of 4 ms.
	if read.Latency.MinNanoseconds < (delay - 4*time.Millisecond).Nanoseconds() {
		t.Errorf("the shortest latency is %v, less than the delay", time.Duration(read.Latency.MinNanoseconds))
	}
	depth := float64(*read.IOPSMilli) / 1000 * time.Duration(read.Latency.MeanNanoseconds).Seconds()
	if math.Abs(depth-8) > 0.02*8 {
		t.Errorf("IOPS × mean latency is %.2f, want the queue depth of 8", depth)
	}
	soak.Report(t, "dm-delay of 50 ms", "shortest %v, median %v, IOPS × mean latency %.3f", time.Duration(read.Latency.MinNanoseconds),
		time.Duration(*read.Latency.P50Nanoseconds), depth)
}

// TestFlakyDisk runs on a disk whose operations fail for two of every seven seconds (dm-flakey). The run must fail with
// the reason, must not hang, and must not change other files.
func TestFlakyDisk(t *testing.T) {
	machine := lab.Machine{Disks: []lab.Disk{{Bytes: 1 << 30}}, Programs: map[string]string{"kubectl-storagebench": commandLine(t)},
		Files: map[string]string{"bench.yaml": steady}}
	output := machine.Run(t, fmt.Sprintf(`modprobe dm-flakey
size=$(cat /sys/block/$(basename $(readlink %[1]s))/size)
dmsetup --noudevsync --noudevrules create flaky --table "0 $size linear %[1]s 0" || exit 9
mkfs.ext4 -q /dev/dm-0 && mount -t ext4 -o errors=continue /dev/dm-0 /mnt || exit 9
dd if=/dev/urandom of=/mnt/theirs bs=64k count=16 2>/dev/null; sync; sum=$(sha256sum < /mnt/theirs)
(sleep 12; dmsetup --noudevsync --noudevrules suspend --noflush --nolockfs flaky
dmsetup --noudevsync --noudevrules load flaky --table "0 $size flakey %[1]s 0 5 2"; dmsetup --noudevsync --noudevrules resume flaky) &
kubectl-storagebench run --local -f /lab/bench.yaml --target data=/mnt > result 2>&1
code=$?; cat result; echo LAB-RESULT $code
dmsetup --noudevsync --noudevrules suspend --noflush --nolockfs flaky; dmsetup --noudevsync --noudevrules load flaky --table "0 $size linear %[1]s 0"
dmsetup --noudevsync --noudevrules resume flaky; echo 3 > /proc/sys/vm/drop_caches
[ "$sum" = "$(sha256sum < /mnt/theirs)" ] || echo LAB-CHANGED
`, lab.Path(0)))
	said, rest, ended := strings.Cut(output.Text, "LAB-RESULT ")
	switch {
	case !ended:
		t.Fatalf("the run did not end: %s", output.Text)
	case strings.HasPrefix(rest, "0"):
		t.Errorf("operations failed, but the run did not:\n%s", said)
	case !strings.Contains(said, "nput/output error"):
		t.Errorf("the output does not name the I/O error:\n%s", said)
	}
	if strings.Contains(rest, "LAB-CHANGED") {
		t.Errorf("a file that the run did not create was changed")
	}
}

// TestBadNetwork runs on SMB and NFS over a network that delays packets by 20 ms and loses or reorders some (netem).
// The run must complete. Without reordering, no read may be faster than the network.
func TestBadNetwork(t *testing.T) {
	const delay = 20 * time.Millisecond
	samba, nfs := lab.StartSamba(t, lab.Share{}), lab.StartNFS(t, lab.Disk{Bytes: 4 << 30})
	for _, test := range []struct {
		name, mount, netem string
		least              time.Duration
	}{
		{"SMB, 1 % lost", samba.Command("/mnt", ""), "loss 1%", delay},
		{"NFS, 1 % lost", nfs.Command("/mnt", "vers=4.2"), "loss 1%", delay},
		{"SMB, 10 % reordered", samba.Command("/mnt", ""), "reorder 10%", 0},
		{"NFS, 10 % reordered", nfs.Command("/mnt", "vers=4.2"), "reorder 10%", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			netem := fmt.Sprintf("modprobe sch_netem && /sbin/tc qdisc add dev eth0 root netem delay %dms %s || exit 9; %s || exit 9", delay.Milliseconds(), test.netem, test.mount)
			status := run(t, lab.Machine{}, netem, strings.Replace(steady, "datasetSize: 64Mi", "datasetSize: 16Mi", 1))
			var read v1alpha1.OperationResult
			for _, phase := range status.Phases {
				if phase.Name == "read" {
					read = phase.Targets[0].Operations[0]
				}
			}
			if read.Latency == nil || read.Latency.MinNanoseconds < test.least.Nanoseconds() {
				t.Fatalf("reads faster than the network's delay of %v: %+v", test.least, read.Latency)
			}
			soak.Report(t, t.Name(), "%d reads, shortest latency %v, mean %v", read.Operations,
				time.Duration(read.Latency.MinNanoseconds), time.Duration(read.Latency.MeanNanoseconds))
		})
	}
}
