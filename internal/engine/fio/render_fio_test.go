package fio

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
)

// runStep renders a step and runs it with a real fio. The result must be complete.
func runStep(t *testing.T, directory string, profile *v1alpha1.FioProfile, parameters Parameters) *Snapshot {
	t.Helper()
	text, err := Render(profile, parameters)
	if err != nil {
		t.Fatal(err)
	}
	traits, err := Describe(profile, parameters)
	if err != nil {
		t.Fatal(err)
	}
	expected := Expectation{MeasuredMilliseconds: parameters.Duration.Milliseconds(),
		WarmUpMilliseconds: parameters.WarmUp.Milliseconds(), MaxOutstanding: traits.MaxOutstanding, Jobs: traits.Jobs}
	if parameters.Purpose == Prepare {
		expected.WrittenBytes = traits.ClientBytes
	}
	live := startFio(t, directory, text)
	output, exit := live.wait(t)
	result := Final(output, exit, live.stderr.String(), expected)
	if result.Outcome != Complete || len(result.Warnings) > 0 {
		t.Fatalf("%v: %s %v\n%s\nfor\n%s", result.Outcome, result.Message, result.Warnings, result.ToolMessages, text)
	}
	return result.Snapshot
}

// checkFiles checks that a directory holds exactly the expected files, with their sizes and without holes.
func checkFiles(t *testing.T, directory string, sizes map[string]uint64) {
	t.Helper()
	entries, err := os.ReadDir(directory)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(sizes) {
		t.Errorf("%d files, want %d", len(entries), len(sizes))
	}
	for _, entry := range entries {
		file, err := os.Open(filepath.Join(directory, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		const seekHole = 4
		hole, err := file.Seek(0, seekHole)
		if err != nil {
			t.Fatal(err)
		}
		info, err := file.Stat()
		if err != nil {
			t.Fatal(err)
		}
		if want := sizes[entry.Name()]; uint64(info.Size()) != want || uint64(hole) != want {
			t.Errorf("%s has %d bytes and its first hole at %d, want %d", entry.Name(), info.Size(), hole, want)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestPrepareAndMeasureWithRealFio(t *testing.T) {
	t.Parallel()
	fsync := func(p *v1alpha1.FioProfile) { p.Fsync = &v1alpha1.FioFsync{EveryWrites: new(int32(4))} }
	compressible := func(p *v1alpha1.FioProfile) { p.Compressibility = &v1alpha1.Compressibility{Percent: 50} }
	zoned := func(p *v1alpha1.FioProfile) { p.RandomDistribution = "zoned:60/10:30/20:8/30:2/40" }
	for _, test := range []struct {
		name    string
		profile *v1alpha1.FioProfile
	}{
		{"random-read", profileWith(withJobs(2), withDepth(4), withFiles(3), withDataset("6Mi"))},
		{"mixed", profileWith(withReadPercent(50), withJobs(2), compressible)},
		{"sequential-write", profileWith(sequential, withReadPercent(0), withBlock("1Mi"), fsync)},
		{"buffered-odd", profileWith(withDirect(false), withBlock("1536"), withDataset("1536000"), withFiles(2))},
		{"shared-sequential", profileWith(shared, sequential, withJobs(3), withFiles(2))},
		{"shared-random", profileWith(shared, withJobs(3), zoned)},
		{"mmap", profileWith(withEngine(v1alpha1.FioMmap))},
		{"posixaio", profileWith(withEngine(v1alpha1.FioPosixAIO), withDepth(2))},
		{"sync", profileWith(withEngine(v1alpha1.FioSync), withOption("norandommap", ""))},
		{"remainder", profileWith(withJobs(4), withRate("", 402), withFiles(2))},
		{"job-file", profileWith(withJobFile(userJobFile, "2560Ki"))},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			traits, err := Describe(test.profile, Parameters{})
			if err != nil {
				t.Fatal(err)
			}
			prepared := runStep(t, directory, test.profile, Parameters{Purpose: Prepare, Seed: 1})
			if got := prepared.Operations[measure.Write].Bytes; got != traits.ClientBytes {
				t.Errorf("prepare wrote %d bytes, want %d", got, traits.ClientBytes)
			}
			checkFiles(t, directory, maps.Collect(traits.Files))
			measured := runStep(t, directory, test.profile, Parameters{Purpose: Measure, Duration: time.Second, Seed: 2})
			checkFiles(t, directory, maps.Collect(traits.Files))
			for operation, expected := range map[measure.Operation]bool{
				measure.Read: traits.Reads, measure.Write: traits.Writes,
				measure.Sync: test.name == "sequential-write" || test.name == "job-file",
			} {
				total := &measured.Operations[operation]
				if (total.Operations > 0) != expected || !total.HasBins() {
					t.Errorf("%d operations %v, with bins: %v", total.Operations, operation, total.HasBins())
				}
				if operation != measure.Sync && traits.BlockBytes > 0 && total.Bytes != total.Total.Count*traits.BlockBytes {
					t.Errorf("%v: %d bytes in %d operations of %d", operation, total.Bytes, total.Total.Count, traits.BlockBytes)
				}
			}
		})
	}
}

func TestPreconditionWithRealFio(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	profile := profileWith(withJobs(2), withFiles(2), withRate("", 10))
	runStep(t, directory, profile, Parameters{Purpose: Prepare})
	snapshot := runStep(t, directory, profile, Parameters{Purpose: Precondition, Passes: 2})
	if got := snapshot.Operations[measure.Write]; got.Bytes != 16<<20 || got.Operations != 4096 {
		t.Errorf("%+v, want 16 MiB in 4096 operations", got.Counter)
	}
}

// TestPreconditionOfAlignedBlocksWithRealFio checks that a precondition writes every block even if the load sets ba,
// which turns off fio's random map.
func TestPreconditionOfAlignedBlocksWithRealFio(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	zeros := make([]byte, 1<<20)
	if err := os.WriteFile(filepath.Join(directory, "data.0.0"), zeros, 0o600); err != nil {
		t.Fatal(err)
	}
	runStep(t, directory, profileWith(withDataset("1Mi"), withOption("ba", "64k")), Parameters{Purpose: Precondition})
	content, err := os.ReadFile(filepath.Join(directory, "data.0.0"))
	if err != nil {
		t.Fatal(err)
	}
	left := 0
	for block := range slices.Chunk(content, 4096) {
		if bytes.Equal(block, zeros[:4096]) {
			left++
		}
	}
	if left > 0 || len(content) != len(zeros) {
		t.Errorf("%d blocks were not overwritten, and the file has %d bytes", left, len(content))
	}
}

// TestMeasureWithoutPrepareWithRealFio checks that reading files that were not laid out fails, and that fio does not
// create them.
func TestMeasureWithoutPrepareWithRealFio(t *testing.T) {
	t.Parallel()
	for _, percent := range []int32{100, 50} {
		text, err := Render(profileWith(withReadPercent(percent)), Parameters{Purpose: Measure, Duration: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		directory := t.TempDir()
		live := startFio(t, directory, text)
		output, exit := live.wait(t)
		result := Final(output, exit, live.stderr.String(), Expectation{})
		if result.Failure != FailureNoSuchFile {
			t.Errorf("%v %v %s", result.Outcome, result.Failure, result.Message)
		}
		checkFiles(t, directory, nil)
	}
}

// TestSharedPartsWithRealFio checks that sequential jobs that write a shared file each write a part of their own, from
// its start. Rates require a section for each job, so the test runs with and without them.
func TestSharedPartsWithRealFio(t *testing.T) {
	t.Parallel()
	for _, rate := range []edit{func(*v1alpha1.FioProfile) {}, withRate("", 4003)} {
		directory := t.TempDir()
		zeros := make([]byte, 1<<20)
		if err := os.WriteFile(filepath.Join(directory, "data.0.0"), zeros, 0o600); err != nil {
			t.Fatal(err)
		}
		profile := profileWith(shared, sequential, withReadPercent(0), withJobs(4), withDataset("1Mi"), rate)
		runStep(t, directory, profile, Parameters{Purpose: Measure, Duration: time.Second})
		content, err := os.ReadFile(filepath.Join(directory, "data.0.0"))
		if err != nil {
			t.Fatal(err)
		}
		const part = 1 << 20 / 4
		for job := range 4 {
			if first := content[job*part:]; bytes.Equal(first[:4096], zeros[:4096]) {
				t.Errorf("nothing was written at the beginning of part %d", job)
			}
		}
		if len(content) != 1<<20 {
			t.Errorf("the file has %d bytes", len(content))
		}
	}
}

// TestRatesWithRealFio checks that jobs do not exceed their share of a rate limit. On a busy machine they may be
// slower.
func TestRatesWithRealFio(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		edits         []edit
		reads, writes float64
	}{
		{[]edit{withRate("", 401), withJobs(4), withReadPercent(70)}, 280, 121},
		{[]edit{withRate("1Mi", 0), withJobs(2), withReadPercent(100)}, 256, 0},
		{[]edit{withRate("1Mi", 100), withJobs(2), withReadPercent(0)}, 0, 100},
	} {
		t.Run(fmt.Sprint(test.reads, test.writes), func(t *testing.T) {
			t.Parallel()
			profile := profileWith(append(test.edits, withEngine(v1alpha1.FioNull))...)
			snapshot := runStep(t, t.TempDir(), profile, Parameters{Purpose: Measure, Duration: time.Second})
			for operation, want := range map[measure.Operation]float64{measure.Read: test.reads, measure.Write: test.writes} {
				total := &snapshot.Operations[operation]
				took := float64(total.RuntimeMilliseconds) / 1000
				if got := float64(total.Operations); got > want*took*1.05+4 || (got == 0) != (want == 0) {
					t.Errorf("%v: %.0f in %.2f s, want %.0f a second", operation, got, took, want)
				}
			}
		})
	}
}

// TestPreparedContentWithRealFio checks that a layout writes data of the requested compressibility, so that later reads
// return such data.
func TestPreparedContentWithRealFio(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	profile := profileWith(func(p *v1alpha1.FioProfile) {
		p.Compressibility = &v1alpha1.Compressibility{Percent: 75, ChunkSize: new(resource.MustParse("4Ki"))}
	})
	runStep(t, directory, profile, Parameters{Purpose: Prepare})
	content, err := os.ReadFile(filepath.Join(directory, "data.0.0"))
	if err != nil {
		t.Fatal(err)
	}
	zeros := bytes.Count(content, []byte{0})
	if share := float64(zeros) / float64(len(content)); share < 0.70 || share > 0.80 {
		t.Errorf("%.0f %% of the bytes are zero, want 75", 100*share)
	}
}
