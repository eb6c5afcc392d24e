package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/storagebench/storagebench/internal/admission"
)

// maxSources limits the number of files that a command reads.
const maxSources = 1000

// source is an input file with storagebench objects.
type source struct {
	name string
	text []byte
	file admission.File
	// faults lists the faults found so far.
	faults admission.Errors
}

// filesFlag adds -f, which may be repeated. Commands with -f also treat their positional arguments as files.
func filesFlag(command *cobra.Command, files *[]string, usage string) {
	command.Flags().StringArrayVarP(files, "filename", "f", nil, usage)
}

// shownName returns the name of the source for messages.
func (s *source) shownName() string {
	if s.name == "-" {
		return "standard input"
	}
	return s.name
}

// readSources reads each of the named files once. The name "-" means standard input; the name of a directory means the
// files in it that kubectl would read.
func readSources(streams Streams, names []string) ([]*source, error) {
	if len(names) == 0 {
		return nil, errors.New("no file given: add -f FILE")
	}
	var all []*source
	for _, name := range names {
		files, err := filesOf(name)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			if slices.ContainsFunc(all, func(s *source) bool { return s.name == file }) {
				continue // the same file was given twice
			}
			text, err := readSource(streams, file)
			if err != nil {
				return nil, err
			}
			if all = append(all, &source{name: file, text: text}); len(all) > maxSources {
				return nil, fmt.Errorf("more than %d files: specify fewer", maxSources)
			}
		}
	}
	return all, nil
}

func readSource(streams Streams, name string) ([]byte, error) {
	file, err := openInput(streams, name)
	if errors.Is(err, fs.ErrNotExist) && filepath.Base(name) == name && filepath.Ext(name) == "" {
		return nil, fmt.Errorf("%w; for a benchmark in the cluster, use rerun %s or report %s", err, name, name)
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	const limit = 4<<20 + 1
	text, err := io.ReadAll(io.LimitReader(file, limit))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return text, nil
}

// filesOf returns the YAML and JSON files in a directory, but not those in its subdirectories. It skips kustomization
// files, because they do not contain the objects themselves. If name is not a directory, filesOf returns only that name.
func filesOf(name string) ([]string, error) {
	if !isDirectory(name) {
		return []string{name}, nil
	}
	entries, err := os.ReadDir(name)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, entry := range entries {
		extension := filepath.Ext(entry.Name())
		if !entry.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, extension) && strings.TrimSuffix(entry.Name(), extension) != "kustomization" {
			files = append(files, filepath.Join(name, entry.Name()))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("directory %s has no .yaml, .yml or .json file", name)
	}
	return files, nil
}

func isDirectory(name string) bool {
	info, err := os.Stat(name)
	return name != "-" && err == nil && info.IsDir()
}

// read decodes the objects in the file. If local is true, its benchmarks run on directories, so their targets need no
// claims.
func (s *source) read(local bool) error {
	decode := admission.Read
	if local {
		decode = admission.ReadLocal
	}
	file, faults, err := decode(s.text)
	if err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	s.file, s.faults = file, faults
	return nil
}

// duplicates finds objects that more than one source contains. It adds a fault to the second source of each such
// object.
func duplicates(sources []*source) {
	type place struct {
		in     *source
		object *admission.Object
	}
	named := map[string][]place{}
	for _, one := range sources {
		for i := range one.file.Objects {
			object := &one.file.Objects[i]
			places := named[object.Title()]
			if slices.ContainsFunc(places, func(p place) bool { return p.in.name == one.name }) {
				continue // skip it: a duplicate within a source is already reported
			}
			named[object.Title()] = append(places, place{one, object})
		}
	}
	for _, places := range named {
		if len(places) < 2 {
			continue
		}
		message := fmt.Sprintf("%s has an object of the same kind and name; rename or remove one", places[0].in.name)
		if len(places) > 2 {
			message = fmt.Sprintf("%d files have an object of this kind and name (first: %s); rename or remove all but one", len(places), places[0].in.name)
		}
		second := places[1]
		second.in.faults = append(second.in.faults, second.object.At(admission.Problem{Path: "metadata.name", Message: message}))
	}
}
