package cluster

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// bareMachine runs a cluster on a machine that is as bare as a container can be: its state folder is on an overlay,
// where no other overlay can be mounted, and its /dev has no kernel log. A mount namespace simulates this machine.
const bareMachine = `set -eu
folder=$1; shift
mkdir $folder/lower $folder/upper $folder/work $folder/merged $folder/dev
mount -t overlay overlay -o lowerdir=$folder/lower,upperdir=$folder/upper,workdir=$folder/work $folder/merged
mount -t tmpfs tmpfs $folder/dev
for device in null zero full random urandom tty; do
	touch $folder/dev/$device
	mount --bind /dev/$device $folder/dev/$device
done
mkdir $folder/dev/pts $folder/dev/shm
mount --bind /dev/pts $folder/dev/pts
ln -s pts/ptmx $folder/dev/ptmx
ln -s /proc/self/fd $folder/dev/fd
mount --rbind $folder/dev /dev
trap '"$1" --state=$folder/merged/state down' EXIT
"$1" --state=$folder/merged/state up
"$1" --state=$folder/merged/state kubectl run bare --image=$2 --restart=Never
"$1" --state=$folder/merged/state kubectl wait --for=condition=Ready pod/bare --timeout=5m
`

func TestABareMachine(t *testing.T) {
	if testing.Short() {
		t.Skip("starts Kubernetes, which -short leaves out")
	}
	b := newBench(t)
	folder := t.TempDir()
	output, err := exec.CommandContext(t.Context(), "unshare", "--mount", "--propagation=private",
		"sh", "-c", bareMachine, "sh", folder, b.program, PauseImage).CombinedOutput()
	if err != nil || !strings.Contains(string(output), "condition met") {
		t.Errorf("no pod runs: %v\n%s", err, output)
	}
	if left, err := os.ReadDir(filepath.Join(folder, "upper")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestOneLineSaysWhyItCannotRun requires that `cluster up` prints the reason in one line, and leaves no state folder,
// on a machine where a cluster cannot run.
func TestOneLineSaysWhyItCannotRun(t *testing.T) {
	b := newBench(t)
	for _, test := range []struct {
		name    string
		command []string
		wants   string
	}{
		{"another user", []string{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"}, "needs root"},
		{"root without rights", []string{"setpriv", "--bounding-set=-sys_admin"}, "CAP_SYS_ADMIN"},
		{"a PATH without programs", []string{"env", "PATH=/nowhere"}, "mount util-linux"}, // also searches root's folders
		{"no control groups", []string{
			"unshare", "--mount", "--propagation=private", "sh", "-c",
			`mount -t tmpfs -o ro tmpfs /sys/fs/cgroup; exec "$@"`, "sh",
		}, "control groups"},
	} {
		t.Run(test.name, func(t *testing.T) {
			// Another user must be able to run the program.
			folder, err := os.MkdirTemp("/tmp", "cluster-")
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(folder)
			program := filepath.Join(folder, "cluster")
			if err := errors.Join(os.Chmod(folder, 0o755), os.Link(b.program, program)); err != nil {
				t.Fatal(err)
			}
			state := filepath.Join(t.TempDir(), "state")
			command := exec.CommandContext(t.Context(), test.command[0], append(test.command[1:], program, "--state="+state, "up")...)
			output, err := command.CombinedOutput()
			if err == nil || strings.Count(string(output), "\n") != 1 || !strings.Contains(string(output), test.wants) {
				t.Errorf("%v: printed %q, want one line with %q", err, output, test.wants)
			}
			if _, err := os.Stat(state); err == nil {
				t.Error("the state folder is left")
			}
		})
	}
}

// TestTheKindOfClusterIsChecked requires an error if KindVariable has an unknown value, or selects the current cluster
// but there is none.
func TestTheKindOfClusterIsChecked(t *testing.T) {
	t.Setenv(KindVariable, "kind")
	if _, err := find(); err == nil || !strings.Contains(err.Error(), `"kind"`) || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v, want one line that names the value", err)
	}
	t.Setenv(KindVariable, "current")
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	if _, err := find(); err == nil {
		t.Error("found a cluster where there is none")
	}
}
