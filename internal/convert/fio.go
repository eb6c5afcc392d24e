package convert

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine/fio"
)

// Fio converts a command line of fio, including the job files that it names. The command line may begin with the
// program's name. Jobs that run at the same time become one workload. Each group of jobs that a stonewall separates
// from the others becomes its own workload. Errors name the option and the remedy.
func Fio(arguments []string, options Options) ([]Workload, error) {
	if err := checkArguments(arguments); err != nil {
		return nil, fmt.Errorf("read the command line of fio: %w", err)
	}
	line, err := readFioLine(program(arguments, "fio"), &options)
	if err != nil {
		return nil, fmt.Errorf("read the command line of fio: %w", err)
	}
	workloads, err := fioWorkloads(line.sections, &options)
	for i := range workloads {
		workloads[i].Notes = append(workloads[i].Notes, line.notes...)
	}
	return workloads, err
}

// FioJobFile converts a job file of fio.
func FioJobFile(text []byte, options Options) ([]Workload, error) {
	if len(text) > maxFileBytes {
		return nil, fmt.Errorf("read the fio job file: its size of %d bytes exceeds the limit of %d", len(text), maxFileBytes)
	}
	sections, err := readFioFile(string(text), fioSection{})
	if err != nil {
		return nil, fmt.Errorf("read the fio job file: %w", err)
	}
	return fioWorkloads(sections, &options)
}

func fioWorkloads(sections []fioSection, options *Options) ([]Workload, error) {
	var groups [][]*fioJob
	var problems []error
	for i := range sections {
		if sections[i].name == "" {
			sections[i].name = "job"
		}
		read, err := readFioJob(&sections[i])
		if err != nil {
			problems = append(problems, fmt.Errorf("job %s: %w", shown(sections[i].name), err))
			continue
		}
		if len(groups) == 0 || read.waits {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], read)
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("read the jobs of fio: %w", all(problems))
	}
	if len(groups) > 64 {
		return nil, fmt.Errorf("the jobs run in %d groups, one after the other, but the limit is 64: split the job file", len(groups))
	}
	workloads := make([]Workload, 0, len(groups))
	names := map[string]bool{}
	for number, group := range groups {
		w := fioWriter{jobs: group, options: options}
		if len(groups) > 1 {
			w.notes.elsewhere("stonewall", fmt.Sprintf("the jobs run in %d groups one after the other, and this is group %d", len(groups), number+1), "use one phase per group, in this order")
		}
		converted, err := w.convert()
		if err != nil {
			return nil, fmt.Errorf("convert the jobs of fio: %w", err)
		}
		converted.Name = options.name(resourceName(group[0].name, "fio"))
		if len(groups) > 1 && options.Name != "" {
			converted.Name = fmt.Sprintf("%s-%d", options.Name, number+1)
		}
		converted.Name = unique(converted.Name, names)
		workloads = append(workloads, converted)
	}
	return workloads, nil
}

// unique returns a name that is not in taken: the given name, or the name with a number appended. It adds the result to
// taken.
func unique(name string, taken map[string]bool) string {
	made := name
	for n := 2; taken[made]; n++ {
		made = fmt.Sprintf("%s-%d", name, n)
	}
	taken[made] = true
	return made
}

// resourceName turns the name of a job into a valid object name.
func resourceName(name, otherwise string) string {
	var text strings.Builder
	for _, r := range strings.ToLower(name) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			text.WriteRune(r)
		case text.Len() > 0 && !strings.HasSuffix(text.String(), "-"):
			text.WriteByte('-')
		}
		if text.Len() == 40 {
			break
		}
	}
	if result := strings.Trim(text.String(), "-"); result != "" {
		return result
	}
	return otherwise
}

// fioJob is a parsed job of fio.
type fioJob struct {
	name string
	// keep holds the options that have no field of their own in fioJob, in the order given. Their names are fio's main
	// names, even if the user wrote an alias, and sizes are plain numbers of bytes.
	keep []fio.KnownOption
	// Each of the following fields holds the value of an option, or fio's default if the job does not set the option.
	jobs, files, depth uint64
	size, filesize     uint64
	block              uint64
	increment          uint64
	direct             bool
	engine, direction  string
	// shared is true if the option filename is set, so that all jobs of the section use the same files.
	shared   bool
	fileName string
	waits    bool
	timed    bool
	runtime  time.Duration
	warmUp   time.Duration
	notes    notes
}

func (j *fioJob) random() bool { return strings.HasPrefix(j.direction, "rand") }

// asynchronous reports whether the job's I/O engine can keep more than one operation outstanding.
func (j *fioJob) asynchronous() bool {
	return j.engine == "libaio" || j.engine == "io_uring" || j.engine == "posixaio" || j.engine == "null"
}

// value returns the value of an option in keep.
func (j *fioJob) value(name string) (string, bool) {
	for _, one := range j.keep {
		if one.Name == name {
			return one.Value, true
		}
	}
	return "", false
}

var errNoSize = errors.New("no size given: fio uses existing files. Specify the size with --dataset-size or the option size")

var fioTypedEngines = map[string]v1alpha1.FioIOEngine{
	"libaio": v1alpha1.FioLibaio, "io_uring": v1alpha1.FioIOUring, "psync": v1alpha1.FioPsync, "sync": v1alpha1.FioSync,
	"posixaio": v1alpha1.FioPosixAIO, "mmap": v1alpha1.FioMmap, "null": v1alpha1.FioNull,
}
