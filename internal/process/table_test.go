package process

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/moby/sys/mountinfo"
)

func itoa(n int) string { return strconv.Itoa(n) }

func TestParseStat(t *testing.T) {
	const rest = ` S 1 42 43 0 -1 4194560 100 200 0 0 7 3 20 10 20 0 1 0 12345 1000 18446744073709551615 1 1 1`
	tests := map[string]struct {
		text string
		want Process
	}{
		"plain":       {"42 (fio)" + rest, Process{PID: 42, PPID: 1, PGID: 42, Command: "fio", State: 'S', StartTicks: 12345, CPU: 400 * time.Millisecond}},
		"parentheses": {"42 (a) R 7 (b c)" + rest, Process{PID: 42, PPID: 1, PGID: 42, Command: "a) R 7 (b c", State: 'S', StartTicks: 12345, CPU: 400 * time.Millisecond}},
		"empty name":  {"42 ()" + rest, Process{PID: 42, PPID: 1, PGID: 42, State: 'S', StartTicks: 12345, CPU: 400 * time.Millisecond}},
	}
	for name, test := range tests {
		if got, err := parseStat([]byte(test.text)); err != nil || got != test.want {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
	for _, text := range []string{"", "42", "42 (fio", "42 fio) S", "x (fio)" + rest, "42 (fio) S 1 2", "42 (fio) S a" + rest[4:], "(fio)" + rest} {
		if got, err := parseStat([]byte(text)); err == nil {
			t.Errorf("%q was read as %+v", text, got)
		}
	}
}

func TestTable(t *testing.T) {
	self, err := readStat("/proc/self/stat")
	must(t, err)
	if self.PID != os.Getpid() || self.PPID != os.Getppid() || self.ended() {
		t.Errorf("we are %+v", self)
	}
}

func TestCgroupOfThisMachine(t *testing.T) {
	text, err := CgroupCPUStat()
	if err != nil {
		t.Skipf("this machine shows no cpu controller: %v", err)
	}
	t.Logf("cpu.stat: %q", text)
	limit, limited, err := CgroupCPULimit()
	must(t, err)
	if limited && (limit.Quota <= 0 || limit.Period <= 0) {
		t.Errorf("limit %+v", limit)
	}
}

func TestFindCgroup(t *testing.T) {
	v2 := &mountinfo.Info{FSType: "cgroup2", Root: "/", Mountpoint: "/sys/fs/cgroup", VFSOptions: "rw,nsdelegate"}
	v1 := &mountinfo.Info{FSType: "cgroup", Root: "/", Mountpoint: "/sys/fs/cgroup/cpu,cpuacct", VFSOptions: "rw,cpu,cpuacct"}
	cpuset := &mountinfo.Info{FSType: "cgroup", Root: "/", Mountpoint: "/sys/fs/cgroup/cpuset", VFSOptions: "rw,cpuset"}
	hybrid := &mountinfo.Info{FSType: "cgroup2", Root: "/", Mountpoint: "/sys/fs/cgroup/unified"}
	part := &mountinfo.Info{FSType: "cgroup", Root: "/kubepods/pod1/c1", Mountpoint: "/sys/fs/cgroup/cpu", VFSOptions: "ro,cpu"}
	tests := map[string]struct {
		membership string
		mounts     []*mountinfo.Info
		want       cgroup
	}{
		"version 2":                   {"0::/user.slice/a.scope\n", []*mountinfo.Info{v2}, cgroup{"/sys/fs/cgroup/user.slice/a.scope", "/sys/fs/cgroup", true}},
		"version 2, own namespace":    {"0::/\n", []*mountinfo.Info{v2}, cgroup{"/sys/fs/cgroup", "/sys/fs/cgroup", true}},
		"version 2, outside our view": {"0::/../other\n", []*mountinfo.Info{v2}, cgroup{"/sys/fs/cgroup/other", "/sys/fs/cgroup", true}},
		"version 1": {"3:cpuset:/x\n2:cpu,cpuacct:/a/b\n", []*mountinfo.Info{cpuset, v1},
			cgroup{"/sys/fs/cgroup/cpu,cpuacct/a/b", "/sys/fs/cgroup/cpu,cpuacct", false}},
		"hybrid": {"2:cpu,cpuacct:/a\n0::/a\n", []*mountinfo.Info{hybrid, v1},
			cgroup{"/sys/fs/cgroup/cpu,cpuacct/a", "/sys/fs/cgroup/cpu,cpuacct", false}},
		"container without a cgroup namespace": {"2:cpu:/kubepods/pod1/c1\n", []*mountinfo.Info{part},
			cgroup{"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu", false}},
		"path with a colon": {"0::/a:b\n", []*mountinfo.Info{v2}, cgroup{"/sys/fs/cgroup/a:b", "/sys/fs/cgroup", true}},
	}
	for name, test := range tests {
		if got, err := findCgroup([]byte(test.membership), test.mounts); err != nil || got != test.want {
			t.Errorf("%s: got %+v, %v, want %+v", name, got, err, test.want)
		}
	}
	for name, test := range map[string]string{"nothing": "", "no cpu": "3:cpuset:/x\n"} {
		if got, err := findCgroup([]byte(test), []*mountinfo.Info{cpuset, v1}); err == nil {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

func TestCgroupLimit(t *testing.T) {
	tests := map[string]struct {
		words   []string
		want    Limit
		limited bool
		fails   bool
	}{
		"half":        {words: []string{"50000", "100000"}, want: Limit{50 * time.Millisecond, 100 * time.Millisecond}, limited: true},
		"version 2":   {words: []string{"max", "100000"}},
		"version 1":   {words: []string{"-1", "100000"}},
		"no period":   {words: []string{"50000"}, fails: true},
		"zero period": {words: []string{"50000", "0"}, fails: true},
		"words":       {words: []string{"a", "b"}, fails: true},
	}
	for name, test := range tests {
		limit, limited, err := parseLimit(test.words)
		if limit != test.want || limited != test.limited || (err != nil) != test.fails {
			t.Errorf("%s: got %+v, %t, %v", name, limit, limited, err)
		}
	}

	// The lowest limit of all levels applies.
	root := t.TempDir()
	inner := root + "/pod/container"
	must(t, os.MkdirAll(inner, 0o755))
	must(t, os.WriteFile(inner+"/cpu.max", []byte("max 100000\n"), 0o600))
	must(t, os.WriteFile(root+"/pod/cpu.max", []byte("150000 100000\n"), 0o600))
	group := cgroup{directory: inner, mount: root, unified: true}
	limit, limited, err := group.limit()
	if err != nil || !limited || limit.Quota != 150*time.Millisecond {
		t.Errorf("got %+v, %t, %v", limit, limited, err)
	}
	must(t, os.WriteFile(inner+"/cpu.max", []byte("20000 10000\n"), 0o600))
	if limit, _, err := group.limit(); err != nil || limit.Quota != 150*time.Millisecond {
		t.Errorf("got %+v, %v", limit, err)
	}
}
