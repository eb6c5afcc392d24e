package lab

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/utils/ptr"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/report"
	"github.com/storagebench/storagebench/test/burstfs"
	"github.com/storagebench/storagebench/test/burstfs/model"
	"github.com/storagebench/storagebench/test/lab"
	"github.com/storagebench/storagebench/test/soak"
)

// mixed reads and writes 16 MiB at a queue depth of 4.
const mixed = `apiVersion: storagebench.dev/v1alpha1
kind: StorageBenchmark
metadata: {name: share}
spec:
  run:
    targets:
    - {name: data, volumes: [{name: data, claimName: data}]}
    clients: {count: 1}
    workload:
      fio: {pattern: Random, readPercent: 50, blockSize: 64Ki, jobs: 1, queueDepth: 4, datasetSize: 16Mi}
    phases:
    - {name: layout, prepare: {}}
    - {name: mixed, steady: {duration: %s}}
`

// disturbed is the outcome of a disturbed run.
type disturbed struct {
	said string
	// result is nil if the run wrote none.
	result *report.Document
	code   string
	// disks holds the kernel's counters of the machine's disks.
	disks []lab.Counters
}

// disturb runs a benchmark with a step "mixed" on the share that mount mounts, and executes the commands in disturbance
// 5 s after the start of the step. At the end, fio must not be running, and /mnt must contain only a file that the run
// did not create, unchanged.
func disturb(t *testing.T, machine lab.Machine, mount, disturbance, benchmark string) disturbed {
	t.Helper()
	machine.Programs = map[string]string{"kubectl-storagebench": commandLine(t)}
	machine.Files = map[string]string{"bench.yaml": benchmark}
	output := machine.Run(t, mount+` || exit 9
echo foreign data > /mnt/foreign
(until grep -q '] mixed: ' said || [ -e over ]; do sleep 0.5; done; [ -e over ] && exit; sleep 5
`+disturbance+`
) 2>&1 &
kubectl-storagebench run --local -f /lab/bench.yaml --target data=/mnt -o json > result.json 2> said
code=$?; touch over; wait; tail -n 60 said; echo LAB-RESULT; cat result.json; echo LAB-RESULT $code
grep -q 'foreign data' /mnt/foreign || echo LAB-CHANGED; find /mnt -mindepth 1 -not -name foreign -not -name lost+found | sed 's/^/LAB-LEFT /'
pidof fio | sed 's/^/LAB-LEFT fio /'
`)
	said, rest, _ := strings.Cut(output.Text, "LAB-RESULT\n")
	text, rest, ended := strings.Cut(rest, "LAB-RESULT ")
	if !ended {
		t.Fatalf("the run did not end: %s", output.Text)
	}
	d := disturbed{said: said, disks: output.Guest}
	d.code, rest, _ = strings.Cut(rest, "\n")
	if strings.Contains(rest, "LAB-") {
		t.Errorf("/mnt is not as it was before the run, or fio is still running: %s\n%s", rest, said)
	}
	if document, err := report.Read(strings.NewReader(text)); err == nil {
		d.result = &document
	}
	return d
}

// step returns the result of the disturbed step, or nil.
func (d disturbed) step() *v1alpha1.TargetResult {
	if d.result == nil {
		return nil
	}
	for i, phase := range d.result.Phases {
		if phase.Name == "mixed" && len(phase.Targets) == 1 && len(phase.Targets[0].Operations) > 0 {
			return &d.result.Phases[i].Targets[0]
		}
	}
	return nil
}

// TestOutage makes a share unreachable for a while: it cuts the network, kills and restarts the SMB server, or freezes
// the NFS server's machine. The run must either complete with a longest operation that shows the outage, or fail with
// the reason. It must leave nothing, and not change other files.
func TestOutage(t *testing.T) {
	const cut = "modprobe sch_netem; /sbin/tc qdisc add dev eth0 root netem loss 100%%; sleep %d; /sbin/tc qdisc del dev eth0 root"
	outages := []outage{{"server killed", askHost, 10 * time.Second}}
	for _, seconds := range []int{1, 10, 60} {
		outages = append(outages, outage{fmt.Sprintf("network cut for %d s", seconds), fmt.Sprintf(cut, seconds), time.Duration(seconds) * time.Second})
	}
	for _, o := range outages {
		for _, options := range []string{"", ",hard"} {
			t.Run("SMB"+options+", "+o.name, func(t *testing.T) {
				samba := lab.StartSamba(t, lab.Share{})
				o.check(t, samba.Command("/mnt", options), func() {
					samba.Kill()
					time.Sleep(o.of)
					samba.Start(t)
				})
			})
		}
	}
	outages[0].name = "server frozen"
	for _, o := range outages {
		for _, options := range nfsOptions {
			t.Run("NFS "+options+", "+o.name, func(t *testing.T) {
				nfs := lab.StartNFS(t, lab.Disk{Bytes: 1 << 30})
				o.check(t, nfs.Command("/mnt", options), func() { nfs.Freeze(o.of) })
			})
		}
	}
}

// TestNFSRestart is TestOutage with an NFS server that is stopped for 10 s. After the restart, it does not know which
// files are open.
func TestNFSRestart(t *testing.T) {
	restart := outage{"server restarted", askHost, 10 * time.Second}
	for _, options := range nfsOptions {
		t.Run(options, func(t *testing.T) {
			nfs := lab.StartNFS(t, lab.Disk{Bytes: 1 << 30})
			restart.check(t, nfs.Command("/mnt", options), func() { nfs.Restart(t, int(restart.of.Seconds())) })
		})
	}
}

// nfsOptions are the mount options of NFS in tests with outages.
var nfsOptions = []string{"vers=4.2,hard", "vers=4.1,soft,timeo=50,retrans=2", "vers=3,hard"}

// outage is a time during which a share is unreachable.
type outage struct {
	name string
	// disturbance are commands of the machine that mounts the share.
	disturbance string
	of          time.Duration
}

// askHost is the disturbance of an outage that the host causes.
const askHost = "echo; echo LAB-DISTURB; sleep 12"

// check runs on a mounted share during the outage. If the outage's disturbance is askHost, cause makes the share
// unreachable.
func (o outage) check(t *testing.T, mount string, cause func()) {
	t.Helper()
	machine := lab.Machine{On: map[string]func(){"LAB-DISTURB": cause}}
	d := disturb(t, machine, mount, o.disturbance, fmt.Sprintf(mixed, 30*time.Second+o.of))
	step := d.step()
	switch {
	case d.code != "0" && !strings.Contains(d.said, "rror") && !strings.Contains(d.said, "ailed"):
		t.Errorf("the run ended with code %s, and does not say why:\n%s", d.code, d.said)
	case d.code == "0" && step == nil:
		t.Fatalf("the run is complete, without a result:\n%s", d.said)
	case d.code == "0":
		longest := time.Duration(0)
		for _, one := range step.Operations {
			if one.Latency != nil {
				longest = max(longest, time.Duration(one.Latency.MaxNanoseconds))
			}
		}
		// Operations that start during the outage complete only after its end.
		if longest < o.of*8/10 {
			t.Errorf("the share was unreachable for %v, but the longest operation took %v\n%s", o.of, longest, d.said)
		}
		soak.Report(t, t.Name(), "complete, longest operation %v, warnings %v", longest, types(step.Warnings))
	default:
		soak.Report(t, t.Name(), "exit code %s: %s", d.code, lastError(d.said))
	}
}

func types(warnings []v1alpha1.Warning) []v1alpha1.WarningType {
	var found []v1alpha1.WarningType
	for _, warning := range warnings {
		found = append(found, warning.Type)
	}
	return found
}

// lastError returns the last line that names an error, without its indentation, or else the last line.
func lastError(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for _, line := range slices.Backward(lines) {
		if strings.Contains(line, "rror: ") {
			return strings.TrimSpace(line)
		}
	}
	return lines[len(lines)-1]
}

// TestFullShare runs on shares that are too small for the dataset. The run must fail for lack of space and leave
// nothing.
func TestFullShare(t *testing.T) {
	folder := t.TempDir()
	if err := unix.Mount("tmpfs", folder, "tmpfs", 0, "size=12m"); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Unmount(folder, unix.MNT_DETACH) }()
	for name, mount := range map[string]string{
		"NFS": lab.StartNFS(t, lab.Disk{Bytes: 16 << 20}).Command("/mnt", "vers=4.2"),
		"SMB": lab.StartSamba(t, lab.Share{Folder: folder}).Command("/mnt", ""),
	} {
		t.Run(name, func(t *testing.T) {
			d := disturb(t, lab.Machine{}, mount, "", fmt.Sprintf(mixed, 5*time.Second))
			if d.code == "0" || !strings.Contains(d.said, "space") {
				t.Errorf("exit code %s, want a failure for lack of space:\n%s", d.code, d.said)
			}
			soak.Report(t, t.Name(), "exit code %s: %s", d.code, lastError(d.said))
		})
	}
}

// TestReadOnlyShare runs on read-only shares. The run must be refused before it writes, with the directory and the
// cause.
func TestReadOnlyShare(t *testing.T) {
	closed, samba, nfs := lab.StartSamba(t, lab.Share{Options: []string{"read only = yes"}}), lab.StartSamba(t, lab.Share{}), lab.StartNFS(t, lab.Disk{Bytes: 1 << 30})
	for _, folder := range []string{closed.Folder, samba.Folder} {
		if err := os.WriteFile(folder+"/foreign", []byte("foreign data"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ name, mount, want string }{
		{"SMB, by the server", closed.Command("/mnt", ""), "permission denied by the file server"},
		{"SMB, by the mount", samba.Command("/mnt", ",ro"), "read-only file system"},
		{"NFS, by the mount", nfs.Command("/mnt", "vers=4.2") + " && echo foreign data > /mnt/foreign && umount /mnt && " +
			nfs.Command("/mnt", "vers=4.2,ro"), "read-only file system"},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := disturb(t, lab.Machine{}, test.mount, "", fmt.Sprintf(mixed, 5*time.Second))
			if d.code == "0" || !strings.Contains(d.said, "/mnt") || !strings.Contains(d.said, test.want) {
				t.Errorf("exit code %s, want a refusal that names the directory and says %q:\n%s", d.code, test.want, d.said)
			}
			soak.Report(t, t.Name(), "exit code %s: %s", d.code, lastError(d.said))
		})
	}
}

// TestTwoMachines runs on two machines that share a file system: over SMB with and without locks, and over NFS. Both
// runs must complete, each in its own directory, and leave nothing.
func TestTwoMachines(t *testing.T) {
	pair := func(t *testing.T, mount string) {
		t.Helper()
		program := commandLine(t)
		t.Run("pair", func(t *testing.T) {
			for _, name := range []string{"first", "second"} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					benchmark := strings.Replace(fmt.Sprintf(mixed, "20s"), "name: share}", "name: "+name+"}", 1)
					machine := lab.Machine{Programs: map[string]string{"kubectl-storagebench": program}, Files: map[string]string{"bench.yaml": benchmark}}
					output := machine.Run(t, mount+" || exit 9\nhostname "+name+"\nkubectl-storagebench run --local -f /lab/bench.yaml --target data=/mnt > result 2>&1; code=$?; cat result; exit $code")
					if output.Code != 0 {
						t.Errorf("exit code %d: %s", output.Code, output.Text)
					}
				})
			}
		})
	}
	for name, options := range map[string]string{"SMB": "", "SMB without locks": ",nobrl"} {
		t.Run(name, func(t *testing.T) {
			samba := lab.StartSamba(t, lab.Share{})
			pair(t, samba.Command("/mnt", options))
			if left, err := os.ReadDir(samba.Folder); err != nil || len(left) > 0 {
				t.Errorf("left in the share: %v, %v", left, err)
			}
		})
	}
	t.Run("NFS", func(t *testing.T) {
		server := lab.StartNFS(t, lab.Disk{Bytes: 1 << 30})
		pair(t, server.Command("/mnt", "vers=4.2"))
		if output := (lab.Machine{}).Run(t, server.Command("/mnt", "vers=4.2")+" || exit 9; find /mnt -mindepth 1"); output.Code != 0 || strings.TrimSpace(output.Text) != "" {
			t.Errorf("left on the export: %s", output.Text)
		}
	})
}

// TestShareCounters compares the bytes of a run on a share, and of bare fio on the same machine, with those that the
// kernel's SMB or NFS client counted. They may differ only by the bytes in flight and the run's own small files.
func TestShareCounters(t *testing.T) {
	const blockBytes, queueDepth = 64 << 10, 8
	bare := fmt.Sprintf("fio --name=bare --directory=/mnt --size=16m --ioengine=libaio --direct=1 --iodepth=%d --bs=%d --time_based=1 --runtime=5 --output-format=json", queueDepth, blockBytes)
	program := commandLine(t)
	benchmark := strings.NewReplacer("count: 2", "count: 1", ", warmUp: 1s", "").Replace(quickstart)
	for _, test := range []struct{ name, mount, counters string }{
		{"SMB", lab.StartSamba(t, lab.Share{}).Command("/mnt", ""),
			`awk '/Bytes read:/ {r += $3; w += $6} END {print r, w}' /proc/fs/cifs/Stats`},
		// The fifth and sixth numbers are the bytes that were read from the server and written to it.
		{"NFS", lab.StartNFS(t, lab.Disk{Bytes: 1 << 30}).Command("/mnt", "vers=4.2"),
			`awk '$1 == "bytes:" {r += $6; w += $7} END {print r, w}' /proc/self/mountstats`},
	} {
		t.Run(test.name, func(t *testing.T) {
			machine := lab.Machine{Programs: map[string]string{"kubectl-storagebench": program}, Files: map[string]string{"bench.yaml": benchmark}}
			output := machine.Run(t, test.mount+" || exit 9\ncounted() { "+test.counters+"; }\n"+`
counted; kubectl-storagebench run --local -f /lab/bench.yaml --target data=/mnt -o json > result.json 2> said || { cat said; exit 1; }
counted; fio --name=bare --directory=/mnt --size=16m --rw=write --bs=1m --direct=1 > /dev/null
counted; `+bare+` --rw=randwrite > write.json; counted; `+bare+` --rw=randread > read.json; counted
echo LAB-RESULT; cat result.json; echo LAB-RESULT; cat write.json; echo LAB-RESULT; cat read.json
`)
			sections := strings.Split(output.Text, "LAB-RESULT\n")
			if output.Code != 0 || len(sections) != 4 {
				t.Fatalf("exit code %d: %s", output.Code, output.Text)
			}
			// counted holds the bytes read and written before the run, after it, and after the layout, the writes and the reads
			// of bare fio.
			var counted [5][2]int64
			for i, line := range strings.Split(strings.TrimSpace(sections[0]), "\n") {
				if _, err := fmt.Sscan(line, &counted[i][0], &counted[i][1]); err != nil {
					t.Fatalf("%v: %s", err, sections[0])
				}
			}
			document, err := report.Read(strings.NewReader(sections[1]))
			if err != nil {
				t.Fatal(err)
			}
			bareWritten, _, _ := bareTotals(t, sections[2])
			bareRead, _, _ := bareTotals(t, sections[3])
			ran := map[v1alpha1.Operation]int64{}
			for _, phase := range document.Phases {
				for _, one := range phase.Targets[0].Operations {
					ran[one.Operation] += one.Bytes
				}
			}
			// Blocks may be in flight at both ends of a step. The run's own files have some kilobytes.
			const most = 2*queueDepth*blockBytes + 256<<10
			for _, one := range []struct {
				what             string
				counted, reports int64
			}{
				{"reads of the run", counted[1][0] - counted[0][0], ran[v1alpha1.OperationRead]}, {"writes of the run", counted[1][1] - counted[0][1], ran[v1alpha1.OperationWrite]},
				{"reads of bare fio", counted[4][0] - counted[3][0], bareRead}, {"writes of bare fio", counted[3][1] - counted[2][1], bareWritten},
			} {
				if beyond := one.counted - one.reports; beyond < 0 || beyond > most {
					t.Errorf("%s: the kernel counted %d bytes, reported are %d", one.what, one.counted, one.reports)
				}
				soak.Report(t, t.Name()+", "+one.what, "the kernel counted %d bytes, reported are %d", one.counted, one.reports)
			}
		})
	}
}

// TestCommandOnShare runs a program on a share. The result must take the program's bytes from the kernel's statistics
// of the mount, and they must match what the program copied.
func TestCommandOnShare(t *testing.T) {
	const benchmark = `apiVersion: storagebench.dev/v1alpha1
kind: StorageBenchmark
metadata: {name: copy}
spec:
  run:
    targets:
    - {name: data, volumes: [{name: data, claimName: data}]}
    clients: {count: 1}
    phases:
    - name: write
      steady: {duration: 2m}
      workload:
        command: {command: [dd, if=/dev/zero, of=copied, bs=64k, count=256], datasetSize: 16Mi}
    - name: copy
      steady: {duration: 2m}
      workload:
        command: {command: [dd, if=copied, of=again, bs=64k, iflag=direct, oflag=direct], datasetSize: 32Mi}
`
	const copied, ownFiles = 16 << 20, 64 << 10
	for name, mount := range map[string]string{
		"SMB":   lab.StartSamba(t, lab.Share{}).Command("/mnt", ""),
		"NFS 4": lab.StartNFS(t, lab.Disk{Bytes: 1 << 30}).Command("/mnt", "vers=4.2"),
		"NFS 3": lab.StartNFS(t, lab.Disk{Bytes: 1 << 30}).Command("/mnt", "vers=3"),
	} {
		t.Run(name, func(t *testing.T) {
			status := run(t, lab.Machine{}, mount+" || exit 9", benchmark)
			for i, phase := range status.Phases {
				of := phase.Targets[0].Command
				if of == nil || of.Source != v1alpha1.SourceMount {
					t.Fatalf("%s: the bytes are not from the mount: %+v", phase.Name, of)
				}
				read, written := of.Sources[0].ReadBytes, of.Sources[0].WriteBytes
				reads := int64(i) * copied // The first program reads only /dev/zero.
				if read < reads || read > reads+ownFiles || written < copied || written > copied+ownFiles {
					t.Errorf("%s: the program read %d bytes and wrote %d, reported are %d and %d", phase.Name, reads, copied, read, written)
				}
				if warned := slices.Contains(types(phase.Targets[0].Warnings), v1alpha1.WarningBytesUncertain); warned != (i == 0) {
					t.Errorf("%s: only reads of /dev/zero make the counts differ, but BytesUncertain is %t: %+v", phase.Name, warned, of.Sources)
				}
				soak.Report(t, t.Name()+", "+phase.Name, "%d bytes read, %d written, sources are %d of a thousand apart", read, written, ptr.Deref(of.DisagreementPermille, 0))
			}
		})
	}
}

// TestShareWithCredits measures a file server with burst credits, like FSx for Windows, over the real protocol: Samba
// on a simulated store. Burst, baseline and credits must be within 2 % of the store's, with and without oplocks and
// leases. The load keeps at most 1 MiB in flight, 0.7 % of the credits: the store has already charged for a part of the
// requests in flight when the credits end, and with blocks of 1 MiB at a queue depth of 8, the result was 3 % too low.
func TestShareWithCredits(t *testing.T) {
	const burstRate, baselineRate, seconds = 16e6, 4e6, 12.0
	for name, options := range map[string][]string{"oplocks and leases": nil, "no oplocks": {"oplocks = no", "level2 oplocks = no", "smb2 leases = no"}} {
		t.Run(name, func(t *testing.T) {
			store := burstfs.Mount(t, model.Config{Buckets: []model.Bucket{{Name: "server", Counts: model.CountsBytes,
				BurstPerSecond: burstRate, BaselinePerSecond: baselineRate, Size: seconds * (burstRate - baselineRate)}}}, "")
			samba := lab.StartSamba(t, lab.Share{Folder: store.Path(), Options: options})
			benchmark := strings.NewReplacer("blockSize: 1Mi", "blockSize: 256Ki", "queueDepth: 8", "queueDepth: 4", "datasetSize: 256Mi", "datasetSize: 16Mi", "%[1]s", "90s", "    - {name: burst", "    - {name: layout, prepare: {}}\n    - {name: idle, cooldown: {duration: 10s}}\n    - {name: burst").Replace(drain)
			status := run(t, lab.Machine{}, samba.Command("/mnt", "")+" || exit 9", benchmark)
			phase := status.Phases[len(status.Phases)-1]
			burst := phase.Targets[0].Burst
			if burst == nil || !burst.Exhausted || burst.Bytes == nil || len(burst.Bytes.Drops) != 1 || burst.Bytes.Drops[0].Spent == nil {
				t.Fatalf("the credits ran out once, but the result is %+v, warnings %+v", burst, phase.Targets[0].Warnings)
			}
			near(t, "burst", burst.Bytes.Burst.Value, burstRate)
			near(t, "baseline", burst.Bytes.Baseline.Value, baselineRate)
			near(t, "credits", burst.Bytes.Drops[0].Spent.Value, int64(math.Round(seconds*(burstRate-baselineRate))))
			soak.Report(t, t.Name(), "burst %d, baseline %d bytes/s, spent %d bytes", burst.Bytes.Burst.Value, burst.Bytes.Baseline.Value, burst.Bytes.Drops[0].Spent.Value)
		})
	}
}
