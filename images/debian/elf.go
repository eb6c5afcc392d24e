package debian

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// Closure returns the paths of all files that are needed to load a program from the packages: the program itself, the
// dynamic linker, the shared libraries, and the symbolic links that lead to them. It searches the same directories as a
// dynamic linker without a cache: a file's own run path and the standard directories.
func (r Root) Closure(program string) ([]string, error) {
	seen := map[string]bool{}
	var all []string
	queue := []string{program}
	for len(queue) > 0 {
		next := queue[0]
		queue = queue[1:]
		if seen[next] {
			continue
		}
		passed, err := r.Follow(next)
		if err != nil {
			return nil, err
		}
		for _, name := range passed {
			if !seen[name] {
				seen[name] = true
				all = append(all, name)
			}
		}
		needed, err := r.needed(passed[len(passed)-1])
		if err != nil {
			return nil, err
		}
		queue = append(queue, needed...)
	}
	return all, nil
}

// needed returns the paths of the interpreter and the libraries that an ELF file names.
func (r Root) needed(name string) ([]string, error) {
	file, err := elf.NewFile(bytes.NewReader(r[name].Data))
	if err != nil {
		return nil, fmt.Errorf("read %s of package %s: %w", name, r[name].Package, err)
	}
	var found []string
	for _, program := range file.Progs {
		if program.Type != elf.PT_INTERP {
			continue
		}
		text := make([]byte, program.Filesz)
		if _, err := program.ReadAt(text, 0); err != nil {
			return nil, fmt.Errorf("read the interpreter of %s: %w", name, err)
		}
		found = append(found, place(strings.TrimRight(string(text), "\x00")))
	}
	libraries, err := file.ImportedLibraries()
	if err != nil {
		return nil, fmt.Errorf("read the libraries that %s needs: %w", name, err)
	}
	folders, err := folders(file, name)
	if err != nil {
		return nil, err
	}
	for _, library := range libraries {
		where, err := r.search(library, folders)
		if err != nil {
			return nil, fmt.Errorf("%s of package %s needs %s: %w", name, r[name].Package, library, err)
		}
		found = append(found, where)
	}
	return found, nil
}

// folders returns the directories that are searched for the libraries of an ELF file.
func folders(file *elf.File, name string) ([]string, error) {
	var found []string
	for _, tag := range []elf.DynTag{elf.DT_RPATH, elf.DT_RUNPATH} {
		texts, err := file.DynString(tag)
		if err != nil {
			return nil, fmt.Errorf("read the run path of %s: %w", name, err)
		}
		for _, text := range texts {
			for folder := range strings.SplitSeq(text, ":") {
				folder = strings.NewReplacer("$ORIGIN", "/"+path.Dir(name), "${ORIGIN}", "/"+path.Dir(name)).Replace(folder)
				found = append(found, place(folder))
			}
		}
	}
	triplet, err := tripletOf(file.Machine)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return append(found, "usr/lib/"+triplet, "usr/lib"), nil
}

// tripletOf returns the name of the directory in which Debian keeps the libraries for a CPU architecture.
func tripletOf(machine elf.Machine) (string, error) {
	switch machine { //nolint:exhaustive // only the architectures that both Kubernetes and our images support
	case elf.EM_X86_64:
		return "x86_64-linux-gnu", nil
	case elf.EM_AARCH64:
		return "aarch64-linux-gnu", nil
	}
	return "", fmt.Errorf("machine %v is not supported; images exist for amd64 and arm64 only", machine)
}

func (r Root) search(library string, folders []string) (string, error) {
	for _, folder := range folders {
		where := path.Join(folder, library)
		switch _, err := r.Follow(where); {
		case err == nil:
			return where, nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", err
		}
	}
	return "", fmt.Errorf("no package has this library in %s", strings.Join(folders, ", "))
}
