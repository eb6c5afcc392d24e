package imagetest

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// readOnly is a shell script that turns a directory into a read-only root file system with /proc, /dev, /sys and a
// writable /tmp, as in a pod, and runs a program in it.
const readOnly = `set -e
root=$1; user=$2; mount=$3; chroot=$4; copy=$5; allow=$6; shift 6
"$mount" --bind "$root" "$root"
"$mount" -t tmpfs -o mode=1777 tmp "$root/tmp"
"$mount" --rbind /proc "$root/proc"
"$mount" --rbind /dev "$root/dev"
"$mount" --rbind /sys "$root/sys"
"$copy" -r "$root-seed/." "$root/tmp"
"$allow" 1777 "$root/tmp"
"$mount" -o remount,bind,ro "$root"
exec "$chroot" $user "$root" "$@"
`

// Result is the outcome of running a program.
type Result struct {
	Code           int
	Stdout, Stderr string
}

// RunReadOnly runs a program in an unpacked image as in a pod: the root file system is read-only except for /tmp. seed
// lists files of this machine; /tmp contains a copy of each, under its base name. If root runs the test, the program
// runs as the image's user; any other user needs permission to create a user namespace.
func RunReadOnly(t *testing.T, folder string, environment, seed []string, arguments ...string) Result {
	t.Helper()
	seeds := folder + "-seed"
	if err := os.MkdirAll(seeds, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, file := range seed {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		// #nosec G306 G703 -- programs that the image's user runs, in a directory of the test
		if err := os.WriteFile(filepath.Join(seeds, filepath.Base(file)), data, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	flags, user := []string{"--mount"}, "--userspec=65532:65532"
	if os.Getuid() != 0 {
		flags, user = []string{"--user", "--map-root-user", "--mount"}, ""
	}
	// Pass the script full paths of this machine's tools, because it runs with the PATH of the image.
	var tools []string
	for _, tool := range []string{"mount", "chroot", "cp", "chmod"} {
		found, err := exec.LookPath(tool)
		if err != nil {
			t.Fatal(err)
		}
		tools = append(tools, found)
	}
	flags = slices.Concat(flags, []string{"--", "sh", "-c", readOnly, "sh", folder, user}, tools, arguments)
	command := exec.CommandContext(t.Context(), "unshare", flags...)
	command.Env = append([]string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}, environment...)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	err := command.Run()
	var exited *exec.ExitError
	if err != nil && !errors.As(err, &exited) {
		t.Fatal(err)
	}
	return Result{Code: command.ProcessState.ExitCode(), Stdout: stdout.String(), Stderr: stderr.String()}
}
