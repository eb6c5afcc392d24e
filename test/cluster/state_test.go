package cluster

import (
	"errors"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/test/hang"
)

func TestTheRecordComesBackAsItWas(t *testing.T) {
	state := State{folder: t.TempDir()}
	if state.load() != nil {
		t.Error("there is a record before one was written")
	}
	want := record{
		Init:      process{PID: 7, StartTicks: 1 << 40, BootID: "x"},
		Workers:   []process{{}, {PID: 8, StartTicks: 1 << 41, BootID: "x"}},
		Network:   network{All: candidates[0]},
		Complete:  true,
		StartedAt: time.Now().Round(0).UTC(),
	}
	if err := state.save(want); err != nil {
		t.Fatal(err)
	}
	if got := state.load(); got == nil || !reflect.DeepEqual(*got, want) {
		t.Errorf("read %+v, want %+v", got, want)
	}
	if err := os.WriteFile(state.recordFile(), []byte(`{"init":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := state.load(); got != nil {
		t.Errorf("half a record was read as %+v", got)
	}
}

func TestTwoFoldersAreTwoClusters(t *testing.T) {
	one, two := State{folder: "/a"}, State{folder: "/b"}
	if one.cgroup() == two.cgroup() || one.link() == two.link() {
		t.Errorf("both use the control group %s or the link %s", one.cgroup(), one.link())
	}
	if len(one.link()) > 15 {
		t.Errorf("the kernel takes no device with a name as long as %s", one.link())
	}
}

func TestTheStateFolderIsNamedWithoutLinks(t *testing.T) {
	folder := t.TempDir()
	resolved, err := filepath.EvalSymlinks(folder)
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(folder, "link")
	if err := os.Symlink(folder, link); err != nil {
		t.Fatal(err)
	}
	state, err := Open(filepath.Join(link, "new"))
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(resolved, "new"); state.Folder() != want {
		t.Errorf("the folder is %s, want %s", state.Folder(), want)
	}
}

func TestAFolderOfSomethingElseIsRefused(t *testing.T) {
	state := State{folder: t.TempDir()}
	if err := state.checkFolder(); err != nil {
		t.Errorf("an empty folder: %v", err)
	}
	if err := os.WriteFile(filepath.Join(state.folder, "thesis.tex"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := state.checkFolder(); err == nil || !strings.Contains(err.Error(), "thesis.tex") {
		t.Errorf("error %v, want the name of what the folder contains", err)
	}
	if err := state.remove(); err != nil {
		t.Fatal(err)
	}
	if err := state.removeFolder(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(state.folder, "thesis.tex")); err != nil {
		t.Errorf("removing a cluster removed something else: %v", err)
	}
}

// TestDownOfAFolderOfSomethingElse requires that Down leaves a folder alone that belongs to no cluster, even if it
// contains a folder with a name that clusters use.
func TestDownOfAFolderOfSomethingElse(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can stop a cluster")
	}
	state := State{folder: t.TempDir()}
	file := filepath.Join(state.sharedFolder(), "thesis.tex")
	if err := errors.Join(os.Mkdir(state.sharedFolder(), 0o755), os.WriteFile(file, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := state.checkFolder(); err == nil || !strings.Contains(err.Error(), "holds shared") {
		t.Errorf("error %v, want the name of what the folder contains", err)
	}
	if err := state.Down(t.Context(), io.Discard); err != nil {
		t.Errorf("down without a cluster: %v", err)
	}
	if _, err := os.Stat(file); err != nil {
		t.Errorf("down removed something else: %v", err)
	}
}

func TestOnlyTheVeryProcessIsAliveAndKilled(t *testing.T) {
	command := exec.CommandContext(t.Context(), "sleep", "100")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	defer command.Wait()
	defer command.Process.Kill()
	named, err := identify(command.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	for what, other := range map[string]process{
		"one that started earlier":         {PID: named.PID, StartTicks: named.StartTicks - 1, BootID: named.BootID},
		"one of another start of the host": {PID: named.PID, StartTicks: named.StartTicks, BootID: "another"},
		"none":                             {},
	} {
		if other.alive() {
			t.Errorf("%s is alive", what)
		}
		if err := other.kill(); err != nil {
			t.Errorf("killing %s: %v", what, err)
		}
	}
	if !named.alive() {
		t.Fatal("killed a process with another identity")
	}
	if err := named.kill(); err != nil {
		t.Fatal(err)
	}
	hang.Until(t, "the process ends; a zombie has ended", func() bool { return !named.alive() })
}

func TestAProcessMayHaveAnyName(t *testing.T) {
	line := "12 (a) b (c) S 3 4 5 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 99 1000 10\n"
	got, err := parseStat([]byte(line))
	want := stat{name: "a) b (c", state: 'S', parent: 3, startTicks: 99}
	if err != nil || got != want {
		t.Errorf("%q is %+v (%v), want %+v", line, got, err, want)
	}
	for _, broken := range []string{"", "12", "12 (a", ") 12 (", "12 (a) S 3", "12 (a) S x 4 5 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 1 0 99 1"} {
		if _, err := parseStat([]byte(broken)); err == nil {
			t.Errorf("%q was read", broken)
		}
	}
}

func TestTheNetworkIsOneThatNobodyUses(t *testing.T) {
	table := "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n" +
		"eth0\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n" + // default
		"eth0\t0500DB0A\t00000000\t0001\t0\t0\t0\tFFFFFFFF\t0\t0\t0\n" + // 10.219.0.5
		"tun0\t0000800A\t00000000\t0001\t0\t0\t0\t0000C0FF\t0\t0\t0\n" // 10.128.0.0/10
	routes, err := parseRoutes(table)
	if err != nil {
		t.Fatal(err)
	}
	want := []netip.Prefix{netip.MustParsePrefix("10.219.0.5/32"), netip.MustParsePrefix("10.128.0.0/10")}
	if !slices.Equal(routes, want) {
		t.Errorf("routes are %v, want %v", routes, want)
	}
	chosen, err := freeNetwork(candidates, routes)
	if err != nil || chosen.All != netip.MustParsePrefix("172.27.0.0/16") {
		t.Errorf("chose %v (%v)", chosen, err)
	}
	if _, err := freeNetwork(candidates[:2], routes); err == nil || !strings.Contains(err.Error(), "10.187.0.0/16") {
		t.Errorf("%v: has to name what could be used", err)
	}
}

func TestPartsOfTheNetworkDoNotOverlap(t *testing.T) {
	n := network{All: candidates[0]}
	parts := []netip.Prefix{n.services(), n.nodes()}
	for place := range MaxNodes {
		parts = append(parts, n.podsOf(place))
		link := netip.PrefixFrom(n.node(place), 30).Masked()
		if !link.Contains(n.gateway(place)) || !n.nodes().Contains(n.node(place)) || !n.pods().Contains(n.podsOf(place).Addr()) {
			t.Errorf("the addresses of node %d are in the wrong part", place)
		}
	}
	for index, part := range parts {
		if part != part.Masked() || !n.All.Contains(part.Addr()) {
			t.Errorf("%v is no part of %v", part, n.All)
		}
		for _, other := range parts[index+1:] {
			if part.Overlaps(other) {
				t.Errorf("%v and %v overlap", part, other)
			}
		}
	}
	if !n.services().Contains(n.apiService()) || n.pods() != n.pods().Masked() || n.pods().Overlaps(n.nodes()) {
		t.Errorf("%v or %v is in the wrong part", n.apiService(), n.pods())
	}
}

func TestMountsAreUndoneFromTheLast(t *testing.T) {
	const table = `20 1 8:1 / / rw - ext4 /dev/sda rw
30 20 0:5 / /state/probe rw - tmpfs x rw
31 30 0:6 / /state/probe/a\040b rw - tmpfs x rw
32 20 0:7 / /state2/a rw - tmpfs x rw
33 20 0:8 / /state rw - tmpfs x rw
`
	got := mountsBelow(table, "/state")
	if want := []string{"/state/probe/a b", "/state/probe"}; !slices.Equal(got, want) {
		t.Errorf("mounts are %q, want %q: not the folder itself, which its owner mounted", got, want)
	}
}

func TestControlGroupsOfBothVersions(t *testing.T) {
	for _, test := range []struct {
		name      string
		mountinfo string
		want      []hierarchy
	}{
		{
			name: "first version, with an empty second beside it",
			mountinfo: `25 1 0:1 / /sys/fs/cgroup rw - tmpfs t rw
26 25 0:2 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
27 25 0:3 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd
28 25 0:4 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
`,
			want: []hierarchy{
				{path: "/sys/fs/cgroup/cpu,cpuacct", controllers: []string{"rw", "cpu", "cpuacct"}},
				{path: "/sys/fs/cgroup/systemd", controllers: []string{"rw", "name=systemd"}},
				{path: "/sys/fs/cgroup/unified", unified: true},
			},
		},
		{
			name:      "second version",
			mountinfo: "25 1 0:1 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
			want:      []hierarchy{{path: "/sys/fs/cgroup", unified: true}},
		},
	} {
		got := parseHierarchies(test.mountinfo)
		if !slices.EqualFunc(got, test.want, func(a, b hierarchy) bool {
			return a.path == b.path && a.unified == b.unified && slices.Equal(a.controllers, b.controllers)
		}) {
			t.Errorf("%s: %+v, want %+v", test.name, got, test.want)
		}
	}
	if found := parseHierarchies("25 1 0:1 / / rw - ext4 x rw\n"); len(found) > 0 {
		t.Errorf("control groups without a mount: %+v", found)
	}
	missing := missingControllers([]hierarchy{{controllers: []string{"rw", "cpu", "cpuset"}}})
	if want := []string{"memory", "pids"}; !slices.Equal(missing, want) {
		t.Errorf("%q are missing, want %q", missing, want)
	}
}

func TestTheInnerProcessIdIsTheLast(t *testing.T) {
	if inner, found := innerPID("Name:\tx\nNSpid:\t812\t7\nThreads:\t1\n"); !found || inner != 7 {
		t.Errorf("it is %d, %t", inner, found)
	}
	if _, found := innerPID("Name:\tx\n"); found {
		t.Error("found where there is none")
	}
}
