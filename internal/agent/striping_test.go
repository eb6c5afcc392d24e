package agent

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/status"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/dataset"
)

// There is no Lustre here. standInLfs is a script that takes the arguments of lfs, writes them down beside itself, and remembers
// what it was told of one directory. What it prints is what the manual of lfs says, and was not compared with a real one.
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

// onLustre gives a step that asks for striping and its directory, which is said to be on Lustre.
func onLustre(t *testing.T, filesystem string, wanted *agentapi.Striping) (*step, *dataset.Dataset) {
	t.Helper()
	a := New(configuration(t, t.TempDir()), SystemClock{})
	mount, err := a.config.Volumes[0].place().Make()
	must(t, err)
	mount.FilesystemType = filesystem
	directory, err := dataset.Create(mount, a.location(0), a.owner())
	must(t, err)
	t.Cleanup(func() { _ = directory.Close() })
	return newStep(a, &agentapi.LoadRequest{Step: key("a"), Dataset: &agentapi.Dataset{Striping: wanted}}), directory
}

// installLfs puts a script into PATH as lfs, and gives its folder.
func installLfs(t *testing.T, script string) string {
	t.Helper()
	folder := t.TempDir()
	must(t, os.WriteFile(filepath.Join(folder, "lfs"), []byte("#!/bin/sh\n"+script), 0o700))
	t.Setenv("PATH", folder+":/usr/bin:/bin")
	return folder
}

func saidTo(t *testing.T, folder, directory string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, "said"))
	must(t, err)
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
			s, directory := onLustre(t, "lustre", test.wanted)
			must(t, s.stripe(directory))
			// The next step, with files, asks nobody.
			must(t, os.WriteFile(filepath.Join(directory.Path(), "data.0.0"), nil, 0o600))
			must(t, s.stripe(directory))
			if said := saidTo(t, folder, directory.Path()); !slices.Equal(said, test.said) {
				t.Errorf("lfs was called with %q, want %q", said, test.said)
			}
			// A later run finds the files, and their directory striped as it wants.
			s.agent.striped.proven = ""
			must(t, s.stripe(directory))
			if said := saidTo(t, folder, directory.Path()); !slices.Equal(said, append(test.said, test.said[1:]...)) {
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
		"not Lustre": {filesystem: "nfs4", script: standInLfs, reason: ReasonVolume,
			words: []string{"target target: lustre asks", "is not Lustre but nfs4", "remove lustre from the target"}},
		"no lfs": {filesystem: "lustre", reason: ReasonTool,
			words: []string{"no lfs in this image", "give an image that has the client tools of Lustre", "of the file system then stays"}},
		"lfs fails": {filesystem: "lustre", script: "echo 'lfs setstripe: cannot\tset' >&2; printf '\\377' >&2; exit 3\n", reason: ReasonVolume,
			words: []string{"setstripe -c 4 -S 1048576", "exit status 3", "lfs setstripe: cannot set ?"}},
		"set and not kept": {filesystem: "lustre", script: `test "$1" = setstripe || echo 2` + "\n", reason: ReasonVolume,
			words: []string{"has another one now: stripe count 2, stripe size 2, wanted stripe count 4, stripe size 1048576"}},
		"says something else": {filesystem: "lustre", script: `test "$1" = setstripe || echo "stripe_count: 4 (Default)"` + "\n", reason: ReasonVolume,
			words: []string{"has another one now"}},
		"files of another striping": {filesystem: "lustre", script: "test $1 = getstripe || exit 9; echo 1\n", file: true, reason: ReasonVolume,
			words: []string{"holds files of an earlier run", "stripe count 1, stripe size 1, wanted stripe count 4", "remove that directory"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if test.script != "" {
				installLfs(t, test.script)
			} else {
				t.Setenv("PATH", t.TempDir())
			}
			s, directory := onLustre(t, test.filesystem, wanted)
			if test.file {
				must(t, os.WriteFile(filepath.Join(directory.Path(), "data.0.0"), nil, 0o600))
			}
			err := s.stripe(directory)
			if err == nil || reasonIn(err) != test.reason {
				t.Fatalf("got %v (%s), want %s", err, reasonIn(err), test.reason)
			}
			for _, word := range test.words {
				if !strings.Contains(status.Convert(err).Message(), word) {
					t.Errorf("message %q, want %q in it", status.Convert(err).Message(), word)
				}
			}
			if s.agent.striped.proven != "" {
				t.Error("it is remembered as proven")
			}
		})
	}
}

func TestNoStripingAsksNobody(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, wanted := range []*agentapi.Striping{nil, {}} {
		s, directory := onLustre(t, "ext4", wanted)
		must(t, s.stripe(directory))
	}
}
