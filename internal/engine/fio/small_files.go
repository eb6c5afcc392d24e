package fio

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/engine"
	"github.com/storagebench/storagebench/internal/measure"
)

// A step of a smallFiles phase performs one operation on each file of the workload. The implementation relies on the
// following behavior of fio, which TestContractSmallFiles verifies:
//
//	Create   filecreate   open(O_CREAT), timed; then close, not timed
//	Stat     filestat     stat, timed
//	Delete   filedelete   unlink, timed
//	Write    psync        open(O_CREAT), one write (timed), close
//	Read     psync        open, one read (timed), close
//
// Without create_on_open, fio itself creates the files for filestat and filedelete before it begins. With
// create_on_open, fio fails if a file is missing. filecreate opens an existing file and counts it as created, so the
// agent removes leftover files first. filecreate does not create directories.
//
// With openfiles=1, fio closes each file before it opens the next. Without it, fio keeps all files open.

// fileEngines are fio's engines for metadata operations, such as filecreate and filestat.
var fileEngines = map[string]measure.Operation{"filecreate": measure.Create, "filestat": measure.Stat, "filedelete": measure.Delete}

// fileJob describes how fio performs one operation on each file.
type fileJob struct {
	engine, rw string
	// data is true if the operation reads or writes the content of the files.
	data bool
	// fresh is true if the files must not exist before the step.
	fresh bool
}

var fileJobs = map[v1alpha1.Operation]fileJob{
	v1alpha1.OperationCreate: {engine: "filecreate", rw: "write", fresh: true},
	v1alpha1.OperationStat:   {engine: "filestat", rw: "read"},
	v1alpha1.OperationWrite:  {engine: "psync", rw: "write", data: true, fresh: true},
	v1alpha1.OperationRead:   {engine: "psync", rw: "read", data: true},
	v1alpha1.OperationDelete: {engine: "filedelete", rw: "write"},
}

// maxSmallFileBytes is the maximum size of a small file. A single operation writes or reads the whole file.
const maxSmallFileBytes = 1 << 20

// fileSettings lists the options of the workload that apply in a smallFiles phase. The phase replaces the values of the
// options in replacedSettings. It refuses all other options, because they would have no effect or a different effect in
// this phase.
var (
	fileSettings = slices.Concat(slices.DeleteFunc(slices.Clone(contentSettings), func(name string) bool { return name == "openfiles" }),
		[]string{"fsync_on_close", "sync", "invalidate", "fadvise_hint", "randrepeat"})
	replacedSettings = []string{"ioengine", "direct", "rw", "rwmixread", "rwmixwrite", "bs", "iodepth"}
)

// checkSmallFiles returns an error if a valid load cannot be used in a smallFiles phase.
func checkSmallFiles(what *load) error {
	var problems []error
	add := func(s *loadSection, format string, arguments ...any) {
		problems = append(problems, fmt.Errorf("section [%s]: %s", s.name, fmt.Sprintf(format, arguments...)))
	}
	for i := range what.sections {
		s := &what.sections[i]
		switch {
		case s.diskless():
			add(s, "ioengine null accesses no files: remove it")
		case s.shared && s.jobs+s.firstJob > 1 || s.bytesPerJob > 0:
			add(s, "each job needs its own files: remove fileSharing")
		case s.depth > 1:
			add(s, "each job works on one file at a time: remove queueDepth, or raise jobs instead")
		case s.fileBytes > maxSmallFileBytes:
			add(s, "file size %d exceeds the maximum of %d bytes: use more or smaller files", s.fileBytes, maxSmallFileBytes)
		case s.direct && s.fileBytes%sectorBytes != 0:
			add(s, "file size %d is not a multiple of %d bytes, which direct I/O requires: change the file size, or set direct to false",
				s.fileBytes, sectorBytes)
		}
		for _, one := range s.settings {
			if !slices.Contains(fileSettings, one.name) && !slices.Contains(replacedSettings, one.name) {
				remedy := ""
				if strings.HasSuffix(one.name, "sync") {
					remedy = "; to flush each file, set fsync_on_close"
				}
				add(s, "%s does not apply to small files: remove it, or use a separate workload for the phase%s", one.name, remedy)
			}
		}
	}
	return errors.Join(problems...)
}

// smallFiles returns the load of a step of a smallFiles phase.
func (e Engine) smallFiles(step *engine.Step) (load, error) {
	if step.Volumes > 1 || step.Devices {
		return load{}, errors.New("small files need one volume with a file system: change the volumes of the target")
	}
	parameters := parametersOf(step, &engine.Client{})
	parameters.LayoutJobs = 0 // the files depend only on the jobs of this step, because no other phase uses them
	what, problems := read(field.NewPath("fio"), e.Profile, &parameters)
	if err := problems.ToAggregate(); err != nil {
		return load{}, fmt.Errorf("describe the small files of a fio profile: %w", err)
	}
	return what, checkSmallFiles(&what)
}

// folder returns the name of the directory that holds the files of one of the section's jobs.
func (s *loadSection) folder(job int) string {
	return fmt.Sprintf("%s.%d", s.folderPrefix(), s.firstJob+job)
}

func (s *loadSection) folderPrefix() string { return "small" + strings.TrimPrefix(s.prefix, "data") }

// fileCount returns the total number of files of all jobs.
func (s *loadSection) fileCount() uint64 { return uint64(s.jobs) * uint64(s.files) } // #nosec G115 -- at least 1

// describeFiles describes a step of a smallFiles phase.
func (e Engine) describeFiles(step *engine.Step) (engine.Description, error) {
	what, err := e.smallFiles(step)
	if err != nil {
		return engine.Description{}, err
	}
	operation := step.Overrides.Operation
	how, known := fileJobs[operation]
	if !known {
		return engine.Description{}, fmt.Errorf("unknown operation %q on small files", operation)
	}
	made := engine.Description{Metadata: true, ClosedLoop: true, Reads: operation == v1alpha1.OperationRead,
		Writes: how.rw == "write", SyncsAtEnd: how.rw == "write", NoHoles: how.data}
	var allocated uint64
	for i := range what.sections {
		s := &what.sections[i]
		made.Jobs += s.jobs
		made.MaxOutstanding += uint64(s.jobs) // #nosec G115 -- at least 1
		if !how.data {
			continue
		}
		made.Buffered = made.Buffered || !s.direct
		made.SyncsAtEnd = made.SyncsAtEnd && (s.has("fsync_on_close", "1") || s.synchronous())
		made.ClientBytes += s.fileCount() * s.fileBytes
		allocated += s.fileCount() * ((s.fileBytes + defaultChunk - 1) / defaultChunk * defaultChunk)
	}
	made.Dirty = made.Writes && made.Buffered
	if operation == v1alpha1.OperationWrite {
		made.Reserved = engine.Reserved{Key: "smallFiles " + strconv.FormatUint(allocated, 10), Bytes: allocated}
	}
	if made.Reads && made.Buffered {
		made.Cached = engine.Cached{
			Why: "the same client has just written the files, the reads are not direct, and the data on", Remedy: "set direct to true, or use more files",
		}
	}
	return made, nil
}

// renderFiles returns the request for one client's part of a step of a smallFiles phase.
func (e Engine) renderFiles(step *engine.Step, client *engine.Client) (*agentapi.LoadRequest, error) {
	what, err := e.smallFiles(step)
	if err != nil {
		return nil, err
	}
	parameters := parametersOf(step, client)
	how, known := fileJobs[step.Overrides.Operation]
	if !known {
		return nil, fmt.Errorf("unknown operation %q on small files", step.Overrides.Operation)
	}
	tool := &agentapi.FioTool{SampleIntervalNanoseconds: int64(engine.SampleInterval), Direct: true, CompressLike: e.Profile.CompressLike}
	dataset := &agentapi.Dataset{}
	var w writer
	w.global(&parameters)
	for i := range what.sections {
		s := &what.sections[i]
		w.smallFiles(s, how)
		tool.Jobs += int32(s.jobs) // #nosec G115 -- bounded by its rule
		tool.Operations += s.fileCount()
		tool.Direct = tool.Direct && (s.direct || !how.data)
		if step.Overrides.Operation == v1alpha1.OperationWrite {
			tool.WrittenBytes += s.fileCount() * s.fileBytes
		}
		if how.fresh {
			dataset.NewFiles += s.fileCount()
			for job := range s.jobs {
				dataset.NewFolders = append(dataset.NewFolders, s.folder(job))
			}
		}
	}
	if !how.data || how.rw == "read" {
		tool.CompressLike = ""
	}
	tool.MaxOutstanding = uint64(tool.Jobs) // #nosec G115 -- at least 1
	tool.Job = w.text.String()
	return &agentapi.LoadRequest{Dataset: dataset, Tool: &agentapi.LoadRequest_Fio{Fio: tool}}, nil
}

// smallFiles writes a section with jobs that perform one operation on each file.
func (w *writer) smallFiles(s *loadSection, how fileJob) {
	w.section(s.name)
	w.set("ioengine", how.engine)
	w.set("rw", how.rw)
	if s.jobs == 1 {
		w.set("filename_format", s.folder(0)+"/$filenum")
	} else {
		w.set("filename_format", s.folderPrefix()+".$jobnum/$filenum")
	}
	w.count("numjobs", uint64(s.jobs))  // #nosec G115 -- at least 1
	w.count("nrfiles", uint64(s.files)) // #nosec G115 -- at least 1
	w.set("openfiles", "1")
	w.set("file_service_type", "sequential")
	if how.engine == "psync" && how.rw == "read" {
		w.set("allow_file_create", "0")
	} else {
		w.set("create_on_open", "1")
	}
	if !how.data {
		// The operation does not access the content of the files, so their size does not matter. fio counts each
		// operation as one byte.
		w.set("bs", "1")
		w.set("filesize", "1")
		return
	}
	w.count("bs", s.fileBytes)
	w.count("filesize", s.fileBytes)
	w.set("direct", zeroOne(s.direct))
	for _, one := range s.settings {
		if slices.Contains(fileSettings, one.name) {
			w.set(one.name, one.value)
		}
	}
}
