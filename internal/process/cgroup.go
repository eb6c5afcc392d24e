package process

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/moby/sys/mountinfo"
)

// Limit is the CPU time that a control group may use in each period.
type Limit struct {
	Quota  time.Duration
	Period time.Duration
}

// cgroup is the location of a process's control group in a mounted CPU controller.
type cgroup struct {
	// directory is the process's own group. mount is the highest visible group, at which the search for limits ends.
	directory, mount string
	unified          bool
}

// CgroupCPUStat returns the text of cpu.stat of this process's control group: the cgroup v1 file if the cpu controller
// is mounted as v1, otherwise the v2 file.
func CgroupCPUStat() (string, error) {
	group, err := ownCgroup()
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(filepath.Join(group.directory, "cpu.stat"))
	if err != nil {
		return "", fmt.Errorf("read the CPU statistics of the control group: %w", err)
	}
	return string(text), nil
}

// CgroupCPULimit returns the tightest CPU limit of this process's control group and its visible ancestors. limited is
// false if there is no limit.
func CgroupCPULimit() (limit Limit, limited bool, err error) {
	group, err := ownCgroup()
	if err != nil {
		return Limit{}, false, err
	}
	return group.limit()
}

func (g cgroup) limit() (limit Limit, limited bool, err error) {
	for directory := g.directory; ; directory = filepath.Dir(directory) {
		here, ok, err := g.limitOf(directory)
		if err != nil {
			return Limit{}, false, fmt.Errorf("read the CPU limit of the control group: %w", err)
		}
		if ok && (!limited || float64(here.Quota)/float64(here.Period) < float64(limit.Quota)/float64(limit.Period)) {
			limit, limited = here, true
		}
		if directory == g.mount || !strings.HasPrefix(directory, g.mount) {
			return limit, limited, nil
		}
	}
}

// limitOf reads cpu.max ("max 100000" or "50000 100000"), or cpu.cfs_quota_us (-1 for no limit) and
// cpu.cfs_period_us. A root group has none of these files.
func (g cgroup) limitOf(directory string) (Limit, bool, error) {
	var words []string
	if g.unified {
		text, err := os.ReadFile(filepath.Join(directory, "cpu.max"))
		if errors.Is(err, fs.ErrNotExist) {
			return Limit{}, false, nil
		}
		if err != nil {
			return Limit{}, false, err
		}
		words = strings.Fields(string(text))
	} else {
		for _, file := range []string{"cpu.cfs_quota_us", "cpu.cfs_period_us"} {
			text, err := os.ReadFile(filepath.Join(directory, file))
			if errors.Is(err, fs.ErrNotExist) {
				return Limit{}, false, nil
			}
			if err != nil {
				return Limit{}, false, err
			}
			words = append(words, strings.TrimSpace(string(text)))
		}
	}
	return parseLimit(words)
}

func parseLimit(words []string) (Limit, bool, error) {
	if len(words) != 2 {
		return Limit{}, false, fmt.Errorf("%q is not a quota and a period", words)
	}
	if words[0] == "max" || words[0] == "-1" {
		return Limit{}, false, nil
	}
	quota, err := strconv.ParseInt(words[0], 10, 64)
	if err != nil {
		return Limit{}, false, fmt.Errorf("quota: %w", err)
	}
	period, err := strconv.ParseInt(words[1], 10, 64)
	if err != nil {
		return Limit{}, false, fmt.Errorf("period: %w", err)
	}
	if quota <= 0 || period <= 0 {
		return Limit{}, false, fmt.Errorf("%q is not a quota and a period", words)
	}
	return Limit{Quota: time.Duration(quota) * time.Microsecond, Period: time.Duration(period) * time.Microsecond}, true, nil
}

func ownCgroup() (cgroup, error) {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return cgroup{}, fmt.Errorf("find this process's control group: %w", err)
	}
	mounts, err := mountinfo.GetMounts(mountinfo.FSTypeFilter("cgroup", "cgroup2"))
	if err != nil {
		return cgroup{}, fmt.Errorf("find the mount point of control groups: %w", err)
	}
	return findCgroup(text, mounts)
}

// findCgroup locates this process's control group from the text of /proc/self/cgroup and the list of mounts. A cgroup
// v1 mount with the cpu controller takes precedence, because a controller belongs to only one hierarchy, which on a
// hybrid system is the v1 hierarchy.
func findCgroup(membership []byte, mounts []*mountinfo.Info) (cgroup, error) {
	var paths [2]string // the paths of this process's group in cgroup v1 and cgroup v2
	lines := bufio.NewScanner(bytes.NewReader(membership))
	for lines.Scan() {
		id, rest, _ := strings.Cut(lines.Text(), ":")
		controllers, path, found := strings.Cut(rest, ":")
		switch {
		case !found:
		case id == "0" && controllers == "":
			paths[1] = path
		case slices.Contains(strings.Split(controllers, ","), "cpu"):
			paths[0] = path
		}
	}
	for _, mount := range mounts {
		if paths[0] != "" && mount.FSType == "cgroup" && slices.Contains(strings.Split(mount.VFSOptions, ","), "cpu") {
			return inMount(mount, paths[0], false), nil
		}
	}
	for _, mount := range mounts {
		if paths[1] != "" && mount.FSType == "cgroup2" {
			return inMount(mount, paths[1], true), nil
		}
	}
	return cgroup{}, errors.New("find this process's control group: no control group with the cpu controller is mounted")
}

// inMount returns a group's directory in a mount. The mount may show only part of the hierarchy, the subtree below
// mount.Root, for example in a container without a private cgroup namespace.
func inMount(mount *mountinfo.Info, path string, unified bool) cgroup {
	relative, err := filepath.Rel(mount.Root, path)
	if err != nil || relative == ".." || strings.HasPrefix(relative, "../") {
		relative = "."
	}
	return cgroup{directory: filepath.Join(mount.Mountpoint, relative), mount: mount.Mountpoint, unified: unified}
}
