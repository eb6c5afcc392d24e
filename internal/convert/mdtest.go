package convert

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/engine/ior"
)

// Mdtest converts a command line of mdtest, which may begin with mpirun and its options.
func Mdtest(arguments []string, options Options) ([]Workload, error) {
	if err := checkArguments(arguments); err != nil {
		return nil, fmt.Errorf("read the command line of mdtest: %w", err)
	}
	line, err := readMPI(arguments, "mdtest", "cCDEFgkLPrRStTuUvXyYZh", "abBdefGiIlnNOpsVwWxz")
	if err != nil {
		return nil, fmt.Errorf("read the command line of mdtest: %w", err)
	}
	w := mdtestWriter{profile: &v1alpha1.MdtestProfile{}, notes: line.notes}
	var problems []error
	for _, option := range line.options {
		if err := w.option(option); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", shown(option.String()), err))
		}
	}
	if err := w.finish(); err != nil {
		problems = append(problems, err)
	}
	if len(problems) > 0 {
		return nil, fmt.Errorf("read the command line of mdtest: %w", all(problems))
	}
	if problems := ior.ValidateMdtest(field.NewPath("mdtest"), w.profile); len(problems) > 0 {
		return nil, fmt.Errorf("a profile cannot express this mdtest command line: %w", problems.ToAggregate())
	}
	result := Workload{Name: options.name("mdtest"), Notes: w.notes, Processes: line.processes}
	result.Spec.Mdtest = w.profile
	return []Workload{result}, nil
}

type mdtestWriter struct {
	profile *v1alpha1.MdtestProfile
	// perDirectory is the value of -I, the number of items per directory. leafOnly is true if -L is given, which puts
	// files only into the lowest directories.
	perDirectory        int64
	leafOnly            bool
	fileBytes, readSize int64
	notes               notes
}

func (w *mdtestWriter) option(o mpiOption) error {
	p := w.profile
	var err error
	small := func(most int64) *int32 {
		var count int64
		count, err = mpiCount(o.value, most)
		return new(int32(count)) // #nosec G115 -- bounded by most
	}
	switch o.name {
	case "-n":
		p.FilesPerProcess, err = mpiCount(o.value, 100_000_000)
	case "-u":
		p.UniqueDirectories = new(o.on())
	case "-F":
		p.FilesOnly = new(o.on())
	case "-D":
		p.DirectoriesOnly = new(o.on())
	case "-w":
		w.fileBytes, err = mpiCount(o.value, 1<<40)
	case "-e":
		w.readSize, err = mpiCount(o.value, 1<<40)
	case "-z":
		p.Depth = small(64)
	case "-b":
		p.Branching = small(1024)
	case "-i":
		p.Iterations = small(1000)
	case "-d":
		w.notes.elsewhere(o.String(), "storagebench chooses its own directory names under the target's path", "set the target's path or claim")
		if strings.Contains(o.value, "@") {
			w.notes.severalPaths(o)
		}
	case "-v", "-V", "-P", "-Z":
		w.notes.unneeded(o.String(), whyOutput)
	case "-I":
		w.perDirectory, err = mpiCount(o.value, 100_000_000)
	case "-L":
		w.leafOnly = o.on()
		w.more(mpiOption{name: "-L"})
	case "-a":
		if !strings.EqualFold(o.value, "POSIX") {
			err = errors.New("only POSIX is supported")
		}
	default:
		w.more(o)
	}
	return err
}

func (w *mdtestWriter) more(o mpiOption) {
	trial := &v1alpha1.MdtestProfile{FilesPerProcess: max(w.perDirectory, 1), FileSize: quantity(8), Args: append(slices.Clone(w.profile.Args), o.words()...)}
	if o.name == "-k" {
		trial.FileSize = nil
	}
	problems := ior.ValidateMdtest(field.NewPath("mdtest"), trial)
	if at := slices.IndexFunc(problems, func(one *field.Error) bool {
		return fmt.Sprint(one.BadValue) == o.name || strings.HasPrefix(fmt.Sprint(one.BadValue), o.name+" ")
	}); at >= 0 {
		w.notes.differs(o.String(), shownWhy(problems[at].Detail), "")
		return
	}
	w.profile.Args = trial.Args
}

// finish sets the sizes of files. If -n is missing, it computes the number of items from the number per directory, as
// mdtest does. It then omits -I, because with both options, mdtest would divide its -n items among several trees of -I
// items each.
func (w *mdtestWriter) finish() error {
	p := w.profile
	if w.fileBytes > 0 {
		p.FileSize, p.ReadSize = quantity(w.fileBytes), quantity(w.readSize)
	} else if w.readSize > 0 {
		return fmt.Errorf("-e %d: empty files cannot be read: set -w", w.readSize)
	}
	if p.FilesPerProcess > 0 {
		if w.perDirectory > 0 {
			w.more(mpiOption{name: "-I", value: strconv.FormatInt(w.perDirectory, 10), hasValue: true})
		}
		return nil
	}
	if w.perDirectory == 0 {
		return errors.New("the number of items is missing: set -n or -I")
	}
	depth, branching := int64(0), int64(1)
	if p.Depth != nil {
		depth = int64(*p.Depth)
	}
	if p.Branching != nil {
		branching = int64(*p.Branching)
	}
	directories, level := int64(1), int64(1)
	for range depth {
		if level *= branching; level > 100_000_000 {
			return errors.New("-z and -b result in too many directories: lower one of them")
		}
		directories += level
	}
	if w.leafOnly {
		directories = level
	}
	if directories > 100_000_000/w.perDirectory {
		return errors.New("-I, -z and -b result in more than 100000000 items: lower one of them")
	}
	p.FilesPerProcess = w.perDirectory * directories
	return nil
}
