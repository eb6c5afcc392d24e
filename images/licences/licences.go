// Package licences finds the licence texts that must be shipped with programs.
package licences

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
)

// licenceFile matches the names of licence files and notices in modules.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|copyright|notice|patents)([.-].*)?$`)

// Of returns the licence files of all modules that are linked into Go programs, and of Go itself. The keys have the
// form MODULE/FILE. Most licences require their text to be distributed with every copy.
func Of(ctx context.Context, programs ...[]byte) (map[string][]byte, error) {
	modules := map[string]bool{}
	for _, program := range programs {
		info, err := buildinfo.Read(bytes.NewReader(program))
		if err != nil {
			return nil, fmt.Errorf("read the modules of a program: %w", err)
		}
		for _, module := range info.Deps {
			if module.Replace != nil {
				module = module.Replace
			}
			modules[module.Path+"@"+module.Version] = true
		}
	}
	folders, err := moduleFolders(ctx, slices.Sorted(maps.Keys(modules)))
	if err != nil {
		return nil, err
	}
	found := map[string][]byte{}
	for module, folder := range folders {
		if err := addFolder(found, module, folder); err != nil {
			return nil, fmt.Errorf("add the licence of %s: %w", module, err)
		}
	}
	return found, nil
}

// moduleFolders returns the directories in which the go command stores the sources of modules, by module path. The
// directory of Go itself has the key "go".
func moduleFolders(ctx context.Context, modules []string) (map[string]string, error) {
	out, err := goCommand(ctx, append([]string{"list", "-m", "-f", "{{.Path}} {{.Dir}}"}, modules...)...)
	if err != nil {
		return nil, err
	}
	root, err := goCommand(ctx, "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	folders := map[string]string{"go": strings.TrimSpace(root)}
	for line := range strings.Lines(out) {
		module, folder, _ := strings.Cut(strings.TrimSpace(line), " ")
		if folder == "" {
			return nil, fmt.Errorf("the sources of module %s are not on this machine: run `go mod download`", module)
		}
		folders[module] = folder
	}
	return folders, nil
}

func goCommand(ctx context.Context, arguments ...string) (string, error) {
	var messages bytes.Buffer
	command := exec.CommandContext(ctx, "go", arguments...)
	command.Stderr = &messages
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", arguments[0], err, messages.String())
	}
	return string(out), nil
}

// addFolder adds the licence files of a directory. It returns an error if there are none.
func addFolder(all map[string][]byte, module, folder string) error {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // it is only read
	listed, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	found := false
	for _, entry := range listed {
		if !entry.Type().IsRegular() || !licenceFile.MatchString(entry.Name()) {
			continue
		}
		file, err := root.Open(entry.Name())
		if err != nil {
			return err
		}
		text, err := io.ReadAll(file)
		if err := errors.Join(err, file.Close()); err != nil {
			return err
		}
		all[path.Join(module, entry.Name())] = text
		found = true
	}
	if !found {
		return fmt.Errorf("no licence file in %s", folder)
	}
	return nil
}
