package binaries

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// builder builds programs into a cache directory.
type builder struct {
	root     string
	cache    string
	progress io.Writer
}

// Build returns the paths of the named programs, and builds those that are not in the cache. It writes messages and
// durations to progress. If several processes call Build at once, one builds and the others wait for it.
func Build(ctx context.Context, progress io.Writer, names ...string) (map[string]string, error) {
	builder, wanted, err := find(progress, names)
	if err != nil {
		return nil, err
	}
	return builder.get(ctx, wanted)
}

// Paths returns the same paths as Build, without building.
func Paths(names ...string) (map[string]string, error) {
	builder, wanted, err := find(io.Discard, names)
	if err != nil {
		return nil, err
	}
	return builder.paths(wanted)
}

// find returns a builder and the named programs.
func find(progress io.Writer, names []string) (builder, []program, error) {
	root, err := RepositoryRoot()
	if err != nil {
		return builder{}, nil, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return builder{}, nil, fmt.Errorf("finding the cache directory (set XDG_CACHE_HOME or HOME): %w", err)
	}
	wanted := make([]program, 0, len(names))
	for _, name := range names {
		index := slices.IndexFunc(programs, func(p program) bool { return p.name == name })
		if index < 0 {
			return builder{}, nil, fmt.Errorf("no program %q can be built", name)
		}
		wanted = append(wanted, programs[index])
	}
	return builder{root: root, cache: filepath.Join(cache, "storagebench", "bin"), progress: progress}, wanted, nil
}

func (b builder) paths(wanted []program) (map[string]string, error) {
	paths := make(map[string]string, len(wanted))
	for _, program := range wanted {
		file, err := b.fileName(program)
		if err != nil {
			return nil, err
		}
		paths[program.name] = filepath.Join(b.cache, file)
	}
	return paths, nil
}

func (b builder) get(ctx context.Context, wanted []program) (map[string]string, error) {
	paths, err := b.paths(wanted)
	if err != nil {
		return nil, err
	}
	var modules []*module
	missing := map[*module][]program{}
	for _, program := range wanted {
		if !isProgram(paths[program.name]) && !slices.Contains(missing[program.module], program) {
			if len(missing[program.module]) == 0 {
				modules = append(modules, program.module)
			}
			missing[program.module] = append(missing[program.module], program)
		}
	}
	for _, module := range modules {
		if err := b.buildMissing(ctx, module, missing[module], paths); err != nil {
			return nil, err
		}
	}
	return paths, nil
}

// buildMissing builds the missing programs of a module with one command, because they share most of their packages.
func (b builder) buildMissing(ctx context.Context, module *module, missing []program, paths map[string]string) error {
	if err := os.MkdirAll(b.cache, 0o755); err != nil {
		return fmt.Errorf("making the folder for programs: %w", err)
	}
	unlock, err := b.lock(filepath.Join(b.cache, path.Base(module.folder)+".lock"), names(missing))
	if err != nil {
		return err
	}
	defer unlock()
	missing = slices.DeleteFunc(missing, func(p program) bool { return isProgram(paths[p.name]) })
	if len(missing) == 0 {
		return nil // another process has built them in the meantime
	}
	return b.build(ctx, module, missing, paths)
}

// isProgram reports whether path is a complete program. Incomplete builds are elsewhere, because build renames programs
// into place when they are complete.
func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// lock prevents other processes from building the same programs. The kernel releases the lock when the process ends.
func (b builder) lock(path, what string) (func(), error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("opening the lock for building %s: %w", what, err)
	}
	descriptor := int(file.Fd())
	if syscall.Flock(descriptor, syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		b.say("Waiting for another process that builds %s", what)
		if err := syscall.Flock(descriptor, syscall.LOCK_EX); err != nil {
			_ = file.Close()
			return nil, fmt.Errorf("locking %s: %w", path, err)
		}
	}
	return func() { _ = file.Close() }, nil
}

// build compiles programs and renames them to their final paths when all are complete.
func (b builder) build(ctx context.Context, module *module, missing []program, paths map[string]string) error {
	what := names(missing)
	b.say("Building %s from modules; the first time this takes up to %s", what, module.usual)
	start := time.Now()
	temporary, err := os.MkdirTemp(b.cache, ".build-")
	if err != nil {
		return fmt.Errorf("making a folder to build %s in: %w", what, err)
	}
	defer os.RemoveAll(temporary) //nolint:errcheck // nothing depends on it

	arguments := []string{"build", "-v", "-trimpath", "-ldflags", module.linkerFlags, "-o", temporary + string(filepath.Separator)}
	for _, program := range missing {
		arguments = append(arguments, program.mainPackage)
	}
	command := b.goCommand(ctx, module, arguments...)
	var messages bytes.Buffer
	counter := &counter{messages: &messages}
	command.Stdout, command.Stderr = counter, counter
	stopped := b.tick(start, counter)
	err = command.Run()
	stopped()
	if err != nil {
		return fmt.Errorf("building %s: %w\n%s", what, err, messages.String())
	}
	for _, program := range missing {
		if err := os.Rename(filepath.Join(temporary, program.outputName()), paths[program.name]); err != nil {
			return fmt.Errorf("putting %s in place: %w", program.name, err)
		}
	}
	b.say("Built %s in %s", what, time.Since(start).Round(time.Second))
	return nil
}

func (b builder) goCommand(ctx context.Context, module *module, arguments ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, "go", arguments...)
	command.Dir = filepath.Join(b.root, "hack", filepath.FromSlash(module.folder))
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-mod=readonly", "PWD="+command.Dir)
	return command
}

// names returns a list of programs and versions for messages.
func names(list []program) string {
	var text []string
	for _, program := range list {
		text = append(text, program.name+" "+program.version)
	}
	return strings.Join(text, ", ")
}

// RepositoryRoot returns the root of the repository that contains the working directory.
func RepositoryRoot() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the working directory: %w", err)
	}
	for folder := start; ; folder = filepath.Dir(folder) {
		if _, err := os.Stat(filepath.Join(folder, "hack", "kubernetes", "go.mod")); err == nil {
			return folder, nil
		} else if !errors.Is(err, os.ErrNotExist) {
			return "", fmt.Errorf("looking for hack/kubernetes: %w", err)
		}
		if folder == filepath.Dir(folder) {
			return "", fmt.Errorf("no folder above %s holds hack/kubernetes/go.mod; run this inside the repository", start)
		}
	}
}
