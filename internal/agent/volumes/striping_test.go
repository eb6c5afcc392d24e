package volumes

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/status"

	"github.com/storagebench/storagebench/internal/agent/agenttest"
	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agentapi"
)

// standInLfs replaces Lustre's lfs, which is not available here. The script accepts the arguments of lfs, logs them,
// and remembers the striping of one directory. Its output follows the lfs manual; it has not been compared with real
// output.
const standInLfs = `here=$(dirname "$0")
echo "$@" >>"$here/said"
case "$1" in
setstripe)
	shift
	while [ $# -gt 1 ]; do
		case "$1" in -c) echo "$2" >"$here/count" ;; -S) echo "$2" >"$here/size" ;; esac
		shift 2
	done
	;;
getstripe)
	case "$3" in -c) cat "$here/count" ;; -S) cat "$here/size" ;; esac
	;;
esac
`

// installLfs installs a script as lfs in PATH and returns its folder.
func installLfs(t *testing.T, script string) string {
	t.Helper()
	folder := t.TempDir()
	agenttest.Must(t, os.WriteFile(filepath.Join(folder, "lfs"), []byte("#!/bin/sh\n"+script), 0o700))
	t.Setenv("PATH", folder+":/usr/bin:/bin")
	return folder
}

func saidTo(t *testing.T, folder, directory string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "said"))
	agenttest.Must(t, err)
	return strings.Split(strings.TrimSpace(strings.ReplaceAll(string(text), directory, "DIR")), "\n")
}

func TestStripe(t *testing.T) {
	tests := map[string]struct {
		wanted *agentapi.Striping
		said   []string
	}{
		"both": {&agentapi.Striping{Count: -1, SizeBytes: 4 << 20},
			[]string{"setstripe -c -1 -S 4194304 DIR", "getstripe -d -c DIR", "getstripe -d -S DIR"}},
		"count": {&agentapi.Striping{Count: 4}, []string{"setstripe -c 4 DIR", "getstripe -d -c DIR"}},
		"size":  {&agentapi.Striping{SizeBytes: 65536}, []string{"setstripe -S 65536 DIR", "getstripe -d -S DIR"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			folder := installLfs(t, standInLfs)
			files := filesOf(t, newSet(t), "lustre", &agentapi.Dataset{Striping: test.wanted}, Use{})
			agenttest.Must(t, files.stripe())
			// The next step of the same run does not call lfs.
			agenttest.Must(t, os.WriteFile(filepath.Join(files.Path(), "data.0.0"), nil, 0o600))
			agenttest.Must(t, files.stripe())
			if said := saidTo(t, folder, files.Path()); !slices.Equal(said, test.said) {
				t.Errorf("lfs was called with %q, want %q", said, test.said)
			}
			// A later run finds a directory that has files and the requested striping.
			files.set.striped.proven = ""
			agenttest.Must(t, files.stripe())
			if said := saidTo(t, folder, files.Path()); !slices.Equal(said, append(test.said, test.said[1:]...)) {
				t.Errorf("lfs was called with %q for a directory with files", said)
			}
		})
	}
}

func TestStripeIsRefused(t *testing.T) {
	wanted := &agentapi.Striping{Count: 4, SizeBytes: 1 << 20}
	tests := map[string]struct {
		filesystem, script string
		file               bool
		reason             string
		words              []string
	}{
		"not Lustre": {filesystem: "nfs4", script: standInLfs, reason: tool.ReasonVolume,
			words: []string{"target target: lustre requests", ", not Lustre", "remove lustre from the target"}},
		"no lfs": {filesystem: "lustre", reason: tool.ReasonTool,
			words: []string{"this image has no lfs", "use an image with the Lustre client tools", "keep the file system's own striping"}},
		"lfs fails": {filesystem: "lustre", script: "echo 'lfs setstripe: cannot\tset' >&2; printf '\\377' >&2; exit 3\n", reason: tool.ReasonVolume,
			words: []string{"setstripe -c 4 -S 1048576", "exit status 3", "lfs setstripe: cannot set ?"}},
		"set and not kept": {filesystem: "lustre", script: `test "$1" = setstripe || echo 2` + "\n", reason: tool.ReasonVolume,
			words: []string{"has a different striping after lfs setstripe: stripe count 2, stripe size 2, want stripe count 4, stripe size 1048576"}},
		"says something else": {filesystem: "lustre", script: `test "$1" = setstripe || echo "stripe_count: 4 (Default)"` + "\n", reason: tool.ReasonVolume,
			words: []string{"has a different striping after lfs setstripe"}},
		"files of another striping": {filesystem: "lustre", script: "test $1 = getstripe || exit 9; echo 1\n", file: true, reason: tool.ReasonVolume,
			words: []string{"contains files of an earlier run", "stripe count 1, stripe size 1, want stripe count 4", "remove the directory"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.script != "" {
				installLfs(t, test.script)
			} else {
				t.Setenv("PATH", t.TempDir())
			}
			files := filesOf(t, newSet(t), test.filesystem, &agentapi.Dataset{Striping: wanted}, Use{})
			if test.file {
				agenttest.Must(t, os.WriteFile(filepath.Join(files.Path(), "data.0.0"), nil, 0o600))
			}
			err := files.stripe()
			if reasonIn(err) != test.reason {
				t.Fatalf("got %v (%s), want %s", err, reasonIn(err), test.reason)
			}
			for _, word := range test.words {
				if !strings.Contains(status.Convert(err).Message(), word) {
					t.Errorf("message %q, want %q in it", status.Convert(err).Message(), word)
				}
			}
			if files.set.striped.proven != "" {
				t.Error("the striping is remembered as proven")
			}
		})
	}
}

func TestNoStripingAsksNobody(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, wanted := range []*agentapi.Striping{nil, {}} {
		files := filesOf(t, newSet(t), "ext4", &agentapi.Dataset{Striping: wanted}, Use{})
		agenttest.Must(t, files.stripe())
	}
}

func reasonIn(err error) string {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			return info.GetReason()
		}
	}
	return ""
}
