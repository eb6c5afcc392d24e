package lab

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/series"
	"github.com/storagebench/storagebench/test/lab"
	"github.com/storagebench/storagebench/test/soak"
)

// TestNetworkOfAgents disturbs the connections to two agents with the kernel's netem on the machine's loopback, while
// their clients load a disk that QEMU throttles to 8 MB/s. The clients keep running, so the result must equal that of
// an undisturbed run: QEMU's rate, no gap, and no operation lost or counted twice. If the agents are unreachable for
// longer than the loss timeout, the result must report it.
func TestNetworkOfAgents(t *testing.T) {
	const (
		bytesPerSecond = 8_000_000
		start          = "modprobe sch_netem && /sbin/tc qdisc add dev lo root netem "
		mount          = "mkfs.ext4 -q -E lazy_itable_init=1,lazy_journal_init=1 /dev/vda && mount -t ext4 -o noinit_itable /dev/vda /mnt"
		// dropped prints how many packets netem has passed and dropped.
		dropped = "/sbin/tc -s qdisc show dev lo | grep Sent"
	)
	cut := func(seconds int) string {
		return fmt.Sprintf(start+"loss 100%%; sleep %d; %s; /sbin/tc qdisc del dev lo root", seconds, dropped)
	}
	for _, test := range []struct {
		name, before, disturbance string
		seconds                   int
		loses                     bool
	}{
		{"100 ms late, 5 % lost", " && " + start + "delay 100ms 20ms loss 5%", "sleep 20; " + dropped, 40, false},
		{"20 ms late, 25 % reordered, 1 % sent twice, 1 % damaged", " && " + start + "delay 20ms reorder 25% duplicate 1% corrupt 1%", "sleep 20; " + dropped, 40, false},
		{"cut for 1 s", "", cut(1), 30, false},
		{"cut for 20 s", "", cut(20), 50, false},
		{"cut for 90 s", "", cut(90), 120, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			machine := lab.Machine{Disks: []lab.Disk{{Bytes: 1 << 30, Throttling: map[string]int64{"bps-total": bytesPerSecond}}}}
			duration := time.Duration(test.seconds) * time.Second
			benchmark := strings.Replace(fmt.Sprintf(mixed, duration), "count: 1}", "count: 2, spread: Any}", 1)
			d := disturb(t, machine, mount+test.before, test.disturbance, benchmark)
			step := d.step()
			if d.code != "0" || step == nil {
				if !test.loses || !strings.Contains(d.said, "unreachable") {
					t.Fatalf("the run ended with code %s:\n%s", d.code, d.said)
				}
				soak.Report(t, t.Name(), "exit code %s: %s", d.code, lastError(d.said))
				return
			}
			if strings.Contains(test.before+test.disturbance, "loss") && !droppedPackets.MatchString(d.said) {
				t.Errorf("no packet was dropped:\n%s", d.said)
			}
			if lost := len(d.result.LostClients) > 0; lost != test.loses {
				t.Errorf("lost clients: %+v\n%s", d.result.LostClients, d.said)
			}
			if !test.loses {
				startedOnce(t, d.result.Steps)
			}
			noGaps(t, d.result.Series, duration)
			var rate, bytes, written int64
			for _, phase := range d.result.Phases {
				for _, one := range phase.Targets[0].Operations {
					if one.Latency == nil || one.Latency.Samples != one.Operations {
						t.Errorf("%s, %s: %d operations with the latency %+v", phase.Name, one.Operation, one.Operations, one.Latency)
					}
					bytes += one.Bytes
					if one.Operation == v1alpha1.OperationWrite {
						written += one.Bytes
					}
				}
			}
			for _, one := range step.Operations {
				rate += *one.BytesPerSecond
			}
			near(t, "bytes/s", rate, bytesPerSecond)
			// The file system itself reads and writes a little. The bytes of a lost attempt are in no result.
			counted := d.disks[0]
			all := counted.ReadBytes + counted.WriteBytes
			if bytes > all || written > counted.WriteBytes || !test.loses && all-bytes > bytes/20 {
				t.Errorf("the result has %d bytes, of which %d were written; the kernel counted %+v", bytes, written, counted)
			}
			soak.Report(t, t.Name(), "%d bytes/s; %d bytes in all, the kernel's counters of the disk say %d; lost clients: %d; warnings: %v", rate, bytes, all,
				len(d.result.LostClients), types(step.Warnings))
		})
	}
}

var droppedPackets = regexp.MustCompile(`dropped [1-9]`)

// startedOnce checks that each step succeeded in its first attempt. Attempts that never started do not count.
func startedOnce(t *testing.T, steps []v1alpha1.StepStatus) {
	t.Helper()
	done := map[string]bool{}
	for _, step := range steps {
		if strings.Contains(step.Message, "not all clients received the start command in time") {
			continue
		}
		if step.State != v1alpha1.StepSucceeded || done[step.ID] {
			t.Errorf("step %s, attempt %d: %s %s", step.ID, step.Attempt, step.State, step.Message)
		}
		done[step.ID] = true
	}
}

// noGaps checks that the measured points of the step "mixed" have no gaps and cover its duration, except for the first
// and last second.
func noGaps(t *testing.T, log *series.Log, duration time.Duration) {
	t.Helper()
	if log == nil {
		t.Fatal("the result has no data over time")
	}
	var covered, last int64
	for _, step := range log.Steps {
		if !strings.HasSuffix(step.ID, "-mixed") {
			continue
		}
		for _, point := range step.Targets[0].Points {
			if point.State != series.Measured {
				continue
			}
			if covered > 0 && point.StartNanoseconds != last {
				t.Errorf("nothing was measured for %v", time.Duration(point.StartNanoseconds-last))
			}
			covered += point.EndNanoseconds - point.StartNanoseconds
			last = point.EndNanoseconds
		}
	}
	if time.Duration(covered) < duration-2*time.Second {
		t.Errorf("the measured points cover %v of %v", time.Duration(covered), duration)
	}
}
