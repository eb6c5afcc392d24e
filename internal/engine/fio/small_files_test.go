package fio

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine"
	"github.com/storagebench/storagebench/internal/measure"
	"github.com/storagebench/storagebench/test/golden"
)

// smallFiles returns a profile with 40 files of 4 KiB for two jobs.
func smallFiles(edits ...edit) *v1alpha1.FioProfile {
	return profileWith(append([]edit{withJobs(2), withFiles(20), withDataset("160Ki"), withDirect(false)}, edits...)...)
}

func fileStep(operation v1alpha1.Operation) *engine.Step {
	return &engine.Step{Purpose: v1alpha1.StepMeasure, Clients: 1, Processes: 1, Overrides: engine.Overrides{Operation: operation}}
}

// sourceTree is a job file with files of two sizes.
const sourceTree = "[small]\nnrfiles=30\nfilesize=2k\nbs=2k\nrw=write\nnumjobs=2\n[large]\nnrfiles=3\nfilesize=64k\nbs=4k\nrw=write\nfsync_on_close=1\n"

func TestSmallFilesJobs(t *testing.T) {
	for name, test := range map[string]struct {
		profile   *v1alpha1.FioProfile
		operation v1alpha1.Operation
	}{
		"create": {smallFiles(), v1alpha1.OperationCreate},
		"stat":   {smallFiles(), v1alpha1.OperationStat},
		"write":  {smallFiles(withOption("fsync_on_close", "1")), v1alpha1.OperationWrite},
		"read":   {smallFiles(withDirect(true), withBlock("512")), v1alpha1.OperationRead},
		"delete": {smallFiles(), v1alpha1.OperationDelete},
		"sizes":  {profileWith(withJobFile(sourceTree, "312Ki")), v1alpha1.OperationWrite},
	} {
		t.Run(name, func(t *testing.T) {
			request, err := Engine{test.profile}.Render(fileStep(test.operation), &engine.Client{StepSeed: 7})
			if err != nil {
				t.Fatal(err)
			}
			golden.Check(t, "render/small-files-"+name+".job", request.GetFio().GetJob())
		})
	}
}

func TestSmallFilesRequest(t *testing.T) {
	request, err := Engine{profileWith(withJobFile(sourceTree, "312Ki"))}.Render(fileStep(v1alpha1.OperationWrite), &engine.Client{})
	if err != nil {
		t.Fatal(err)
	}
	tool, dataset := request.GetFio(), request.GetDataset()
	if folders := strings.Join(dataset.GetNewFolders(), " "); folders != "small.0.0 small.0.1 small.1.0" {
		t.Errorf("folders %s", folders)
	}
	if tool.GetOperations() != 63 || tool.GetWrittenBytes() != 312<<10 || dataset.GetNewFiles() != 63 || tool.GetJobs() != 3 || tool.GetDirect() {
		t.Errorf("%+v, %+v", tool, dataset)
	}
	made, err := Engine{profileWith(withJobFile(sourceTree, "312Ki"))}.Describe(fileStep(v1alpha1.OperationWrite))
	if err != nil {
		t.Fatal(err)
	}
	// Files of 2 KiB occupy a block of 4 KiB each.
	if made.Reserved.Bytes != 60*4096+3*64<<10 || !made.Metadata || !made.Writes || made.NeedsFiles || made.Files != nil {
		t.Errorf("%+v", made)
	}
}

func TestSmallFilesRefuses(t *testing.T) {
	for name, test := range map[string]struct {
		profile *v1alpha1.FioProfile
		want    string
	}{
		"no files":   {smallFiles(withEngine(v1alpha1.FioNull)), "accesses no files"},
		"shared":     {smallFiles(func(p *v1alpha1.FioProfile) { p.FileSharing = v1alpha1.FilesShared }), "its own files"},
		"depth":      {smallFiles(withDepth(4)), "one file at a time"},
		"large":      {smallFiles(withDataset("80Mi")), "maximum of 1048576 bytes"},
		"odd":        {profileWith(withJobFile("[a]\nfilesize=1000\nbs=512\nrw=write\ndirect=1\n", "1000")), "multiple of 512"},
		"rate":       {smallFiles(withRate("", 1000)), "rate_iops does not apply"},
		"sync":       {smallFiles(withReadPercent(0), func(p *v1alpha1.FioProfile) { p.Fsync = &v1alpha1.FioFsync{EveryWrites: new(int32(1))} }), "to flush each file, set fsync_on_close"},
		"open files": {smallFiles(withOption("openfiles", "10")), "openfiles does not apply"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Engine{test.profile}.Render(fileStep(v1alpha1.OperationWrite), &engine.Client{})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
	step := fileStep(v1alpha1.OperationWrite)
	step.Volumes = 2
	if _, err := (Engine{smallFiles()}).Render(step, &engine.Client{}); err == nil || !strings.Contains(err.Error(), "one volume") {
		t.Errorf("on two volumes: %v", err)
	}
}

// fileRun performs operations on the files of a directory with the installed fio.
type fileRun struct {
	engine    Engine
	directory string
}

func (r *fileRun) do(t *testing.T, operation v1alpha1.Operation) Result {
	t.Helper()
	request, err := r.engine.Render(fileStep(operation), &engine.Client{})
	if err != nil {
		t.Fatal(err)
	}
	tool := request.GetFio()
	live := startFio(t, r.directory, tool.GetJob())
	output, exit := live.wait(t)
	checkSamples(t, live, sampled(t, live, SamplerOptions{Jobs: int(tool.GetJobs())}))
	return Final(output, exit, live.stderr.String(), Expectation{Operations: tool.GetOperations(), WrittenBytes: tool.GetWrittenBytes()})
}

// complete checks that fio performed, counted and timed one operation on each file, and nothing else.
func (r *fileRun) complete(t *testing.T, operation v1alpha1.Operation, did measure.Operation, files, bytes uint64) {
	t.Helper()
	result := r.do(t, operation)
	if result.Outcome != Complete {
		t.Fatalf("%s: %v: %s", operation, result.Outcome, result.Message)
	}
	for i := range result.Snapshot.Operations {
		total := &result.Snapshot.Operations[i]
		want := measure.Counter{}
		if measure.Operation(i) == did {
			want = measure.Counter{Operations: files, Bytes: bytes}
		}
		if total.Counter != want || total.Total.Count != want.Operations || total.Total.Histogram.Count() != want.Operations {
			t.Errorf("%s: %v: %+v, %d timed, %d in bins, want %+v", operation, measure.Operation(i), total.Counter, total.Total.Count, total.Total.Histogram.Count(), want)
		}
	}
}

// failed checks that an operation fails because of a missing file.
func (r *fileRun) failed(t *testing.T, operation v1alpha1.Operation) {
	t.Helper()
	if result := r.do(t, operation); result.Outcome != Failed || result.Failure != FailureNoSuchFile {
		t.Errorf("%s: %v %v: %s", operation, result.Outcome, result.Failure, result.Message)
	}
}

// folders creates or empties the folders of the two jobs, as the agent does.
func (r *fileRun) folders(t *testing.T) {
	t.Helper()
	for _, name := range []string{"small.0", "small.1"} {
		path := filepath.Join(r.directory, name)
		if err := os.RemoveAll(path); err != nil {
			t.Fatal(err)
		}
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
}

// holds checks the number of files and the size of each.
func (r *fileRun) holds(t *testing.T, files int, bytes int64) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(r.directory, "small.*", "*"))
	if err != nil || len(found) != files {
		t.Fatalf("there are %d files, want %d: %v", len(found), files, err)
	}
	for _, name := range found {
		if info, err := os.Stat(name); err != nil || info.Size() != bytes {
			t.Fatalf("%s: %d bytes, want %d: %v", name, info.Size(), bytes, err)
		}
	}
}

func TestContractSmallFiles(t *testing.T) {
	t.Parallel()
	const files, bytes = 40, 4096
	r := &fileRun{engine: Engine{smallFiles()}, directory: t.TempDir()}
	r.failed(t, v1alpha1.OperationCreate) // fio does not create folders
	r.folders(t)
	r.complete(t, v1alpha1.OperationCreate, measure.Create, files, 0)
	r.holds(t, files, 0)
	// fio also counts existing files as created, so the agent must remove them first.
	r.complete(t, v1alpha1.OperationCreate, measure.Create, files, 0)
	// stat and delete neither extend nor replace files.
	r.complete(t, v1alpha1.OperationStat, measure.Stat, files, 0)
	r.holds(t, files, 0)
	r.complete(t, v1alpha1.OperationDelete, measure.Delete, files, 0)
	r.holds(t, 0, 0)
	r.complete(t, v1alpha1.OperationWrite, measure.Write, files, files*bytes)
	r.holds(t, files, bytes)
	r.complete(t, v1alpha1.OperationStat, measure.Stat, files, 0)
	r.complete(t, v1alpha1.OperationRead, measure.Read, files, files*bytes)
	// fio does not create missing files.
	if err := os.Remove(filepath.Join(r.directory, "small.1", "7")); err != nil {
		t.Fatal(err)
	}
	r.failed(t, v1alpha1.OperationStat)
	r.failed(t, v1alpha1.OperationRead)
	r.holds(t, files-1, bytes)
	r.failed(t, v1alpha1.OperationDelete)
}
