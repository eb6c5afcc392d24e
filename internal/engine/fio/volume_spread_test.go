package fio

import (
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine"
	"github.com/storagebench/storagebench/internal/measure"
)

// volumesIn creates a folder for each volume, and a working directory whose numbered links point to the folders in
// turn.
func volumesIn(t *testing.T, volumes, links int) (work string, folders []string) {
	t.Helper()
	work = t.TempDir()
	for range volumes {
		folders = append(folders, t.TempDir())
	}
	for i := range links {
		if err := os.Symlink(folders[i%volumes], filepath.Join(work, strconv.Itoa(i))); err != nil {
			t.Fatal(err)
		}
	}
	return work, folders
}

// TestSeveralVolumesWithRealFio checks that every volume gets an equal share of the files, that a layout writes all of
// them, and that the load uses the files of the layout.
func TestSeveralVolumesWithRealFio(t *testing.T) {
	t.Parallel()
	for name, profile := range map[string]*v1alpha1.FioProfile{
		"random":            profileWith(withJobs(2), withDepth(4), withFiles(2), withDataset("6Mi")),
		"sequential":        profileWith(sequential, withReadPercent(0), withBlock("64Ki"), withDataset("3Mi")),
		"shared-sequential": profileWith(shared, sequential, withJobs(2), withDataset("6Mi")),
		"remainder":         profileWith(withJobs(4), withRate("", 402), withDataset("12Mi")),
		"job-file":          profileWith(withJobFile(strings.ReplaceAll(userJobFile, "1m", "3m"), "7680Ki")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const volumes = 3
			work, folders := volumesIn(t, volumes, 12)
			spread := func(p Parameters) Parameters { p.Volumes = volumes; return p }
			traits, err := Describe(profile, spread(Parameters{}))
			if err != nil {
				t.Skipf("this profile is invalid for three volumes: %v", err)
			}
			plain, err := Describe(profile, Parameters{})
			if err != nil || plain.ClientBytes != traits.ClientBytes || plain.MaxOutstanding != traits.MaxOutstanding {
				t.Fatalf("one volume has %+v, three have %+v, %v", plain, traits, err)
			}
			runStep(t, work, profile, spread(Parameters{Purpose: Prepare, Seed: 1}))
			sizes := make([]map[string]uint64, volumes)
			for file, bytes := range traits.Files {
				volume, name := VolumeOf(file, volumes)
				if sizes[volume] == nil {
					sizes[volume] = map[string]uint64{}
				}
				sizes[volume][name] = bytes
			}
			for volume, folder := range folders {
				if len(sizes[volume]) == 0 || len(sizes[volume]) != len(sizes[0]) {
					t.Errorf("volume %d has %d files, the first %d", volume, len(sizes[volume]), len(sizes[0]))
				}
				checkFiles(t, folder, sizes[volume])
			}
			measured := runStep(t, work, profile, spread(Parameters{Purpose: Measure, Duration: time.Second, Seed: 2}))
			for volume, folder := range folders {
				checkFiles(t, folder, sizes[volume])
			}
			if measured.Operations[measure.Read].Operations+measured.Operations[measure.Write].Operations == 0 {
				t.Error("nothing was done")
			}
		})
	}
}

// TestDevicesWithRealFio checks that jobs on a raw device use adjacent regions after the mark and write nothing outside
// of them.
func TestDevicesWithRealFio(t *testing.T) {
	t.Parallel()
	writer := "[writer]\nioengine=libaio\ndirect=1\nbs=64k\nsize=2m\nnumjobs=2\nrw="
	for name, test := range map[string]struct {
		profile   *v1alpha1.FioProfile
		overrides engine.Overrides
	}{
		"jobs":        {profile: profileWith(withJobs(3), withDataset("6Mi"))},
		"files":       {profile: profileWith(withJobs(2), withFiles(2), withDataset("8Mi"))},
		"shared":      {profile: profileWith(shared, withJobs(3), withDataset("6Mi"))},
		"parts":       {profile: profileWith(shared, sequential, withReadPercent(0), withJobs(3), withDataset("6Mi"))},
		"remainder":   {profile: profileWith(withJobs(4), withRate("", 402), withDataset("8Mi"))},
		"part-blocks": {profileWith(sequential, withReadPercent(0), withBlock("1Mi"), withDataset("9Mi")), engine.Overrides{Jobs: 2, LayoutJobs: 2}},
		"steps":       {profile: profileWith(withJobFile(writer+"write:4k\n", "4Mi"))},
		"aligned":     {profile: profileWith(withJobFile(writer+"randwrite:2\nba=512\nnorandommap=1\n", "4Mi"))},
	} {
		profile := test.profile
		for _, volumes := range []int{1, 2} {
			t.Run(name+"-"+strconv.Itoa(volumes), func(t *testing.T) {
				t.Parallel()
				work := t.TempDir()
				region := int(profile.DatasetSize.Value()) / volumes
				size := DeviceOffsetBytes + region + 1<<20
				for i := range volumes {
					if err := os.WriteFile(filepath.Join(work, strconv.Itoa(i)), make([]byte, size), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				on := func(p Parameters) Parameters {
					p.Volumes, p.Devices, p.Overrides = volumes, true, test.overrides
					return p
				}
				traits, err := Describe(profile, on(Parameters{}))
				if err != nil {
					t.Fatal(err)
				}
				if regions := maps.Collect(traits.Files); len(regions) != volumes || regions["0/device"] != uint64(region) {
					t.Fatalf("regions %v", regions)
				}
				untouched := func(when string) {
					for i := range volumes {
						text, err := os.ReadFile(filepath.Join(work, strconv.Itoa(i)))
						if err != nil || len(text) != size {
							t.Fatalf("%d bytes, %v", len(text), err)
						}
						for at, one := range text {
							if (at < DeviceOffsetBytes || at >= DeviceOffsetBytes+region) && one != 0 {
								t.Fatalf("%s: byte %d of device %d was written", when, at, i)
							}
						}
						for at := DeviceOffsetBytes; at < DeviceOffsetBytes+region; at += 4096 {
							if strings.Trim(string(text[at:at+4096]), "\x00") == "" {
								t.Fatalf("%s: nothing was written at %d of device %d", when, at, i)
							}
						}
					}
				}
				runStep(t, work, profile, on(Parameters{Purpose: Prepare, Seed: 1}))
				untouched("prepare")
				runStep(t, work, profile, on(Parameters{Purpose: Measure, Duration: time.Second, Seed: 2}))
				untouched("measure")
			})
		}
	}
}

// TestDeviceSizes checks that a precondition overwrites only the whole blocks of each job's part of a device, and that
// the agent expects no more. A prepare writes the whole part.
func TestDeviceSizes(t *testing.T) {
	profile := Engine{profileWith(withReadPercent(0), withBlock("1Mi"), withDataset("1000Mi"))}
	for purpose, want := range map[v1alpha1.StepPurpose]struct {
		job     string
		written uint64
	}{
		v1alpha1.StepPrepare:      {"size=65536000\nnumjobs=16\noffset=1048576\noffset_increment=65536000\n", 1000 << 20},
		v1alpha1.StepPrecondition: {"size=65011712\nnumjobs=16\noffset=1048576\noffset_increment=65536000\n", 3 * 992 << 20},
	} {
		request, err := profile.Render(&engine.Step{Purpose: purpose, Clients: 1, Passes: 3, Devices: true,
			Overrides: engine.Overrides{LayoutJobs: 16}}, &engine.Client{})
		if err != nil {
			t.Fatal(err)
		}
		if job := request.GetFio().GetJob(); !strings.Contains(job, want.job) {
			t.Errorf("%s: %q is not in\n%s", purpose, want.job, job)
		}
		if got := request.GetFio().GetWrittenBytes(); got != want.written {
			t.Errorf("%s: expects %d written bytes, want %d", purpose, got, want.written)
		}
	}
}

func TestSpreadRefuses(t *testing.T) {
	t.Parallel()
	for want, profile := range map[string]*v1alpha1.FioProfile{
		"each file is spread over 3 volumes": profileWith(withDataset("4Mi")),
		"file_service_type is not supported": profileWith(withDataset("3Mi"), withOption("file_service_type", "random")),
		"150000 files per client":            profileWith(withDataset("6144000000"), withJobs(5), withFiles(10000)),
	} {
		_, err := Render(profile, Parameters{Purpose: Prepare, Volumes: 3})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	for want, profile := range map[string]*v1alpha1.FioProfile{
		"zonemode=strided is not supported on raw devices": profileWith(sequential, withOption("zonemode", "strided"),
			withOption("zonesize", "4k"), withOption("zoneskip", "64k")),
		"from section [zones], or use a volume": profileWith(
			withJobFile("[zones]\nsize=8m\nzonemode=strided\nzonesize=64k\n", "8Mi")),
		"needs 131072 for operations of up to":   profileWith(withJobFile("[a]\nsize=64k\nbssplit=4k/50:64k/50\n", "64Ki")),
		"fio.datasetSize: Invalid value: 65536:": profileWith(withDataset("64Ki"), withBlock("64Ki"), withOption("ba", "4k")),
	} {
		if _, err := Render(profile, Parameters{Purpose: Prepare, Devices: true}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("on a device: got %v, want %q", err, want)
		}
		if _, err := Render(profile, Parameters{Purpose: Prepare}); err != nil {
			t.Errorf("on files: %v", err)
		}
	}
}

// TestLayoutJobs checks that the agent expects the number of jobs and the queue depth of the layout during a layout,
// not those of the load.
func TestLayoutJobs(t *testing.T) {
	profile := profileWith(shared, withJobs(8), withDepth(32))
	for name, test := range map[string]struct {
		profile     *v1alpha1.FioProfile
		step        engine.Step
		jobs        int32
		outstanding uint64
	}{
		"load":         {profile, engine.Step{Purpose: v1alpha1.StepMeasure, Duration: time.Minute}, 8, 8 * 32},
		"shared files": {profile, engine.Step{Purpose: v1alpha1.StepPrepare}, 1, layoutDepth},
		"precondition": {profile, engine.Step{Purpose: v1alpha1.StepPrecondition}, 1, layoutDepth},
		"ramp": {profileWith(withJobs(2), withEngine(v1alpha1.FioMmap)),
			engine.Step{Purpose: v1alpha1.StepPrepare, Overrides: engine.Overrides{LayoutJobs: 4}}, 4, 4},
	} {
		request, err := Engine{test.profile}.Render(&test.step, &engine.Client{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if tool := request.GetFio(); tool.GetJobs() != test.jobs || tool.GetMaxOutstanding() != test.outstanding {
			t.Errorf("%s: %d jobs with up to %d operations outstanding, want %d and %d", name, tool.GetJobs(), tool.GetMaxOutstanding(),
				test.jobs, test.outstanding)
		}
	}
}
