package debian

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os/exec"
	"path"
	"slices"
	"strings"
)

// File is a file or a symbolic link of a package.
type File struct {
	// Package is the package that contains the file.
	Package string
	Mode    fs.FileMode
	Data    []byte
	// Target is the target of a symbolic link.
	Target string
}

// maxPackageBytes limits the unpacked size of a package.
const maxPackageBytes = 1 << 30

// Root holds the files of unpacked packages by path, without a leading slash. Files that packages put into /bin,
// /lib and the like are in /usr, as on every current Debian system.
type Root map[string]File

// Unpack adds the files of a package for which keep returns true.
func (r Root) Unpack(ctx context.Context, name, archive string, keep func(string) bool) error {
	command := exec.CommandContext(ctx, "dpkg-deb", "--fsys-tarfile", archive)
	var messages bytes.Buffer
	command.Stderr = &messages
	out, err := command.StdoutPipe()
	if err != nil {
		return fmt.Errorf("unpack %s: %w", name, err)
	}
	if err := command.Start(); err != nil {
		return fmt.Errorf("unpack %s: %w", name, err)
	}
	readErr := r.read(name, tar.NewReader(io.LimitReader(out, maxPackageBytes)), keep)
	// Read the padding at the end of the archive too; otherwise dpkg-deb fails.
	_, _ = io.Copy(io.Discard, out)
	if err := command.Wait(); err != nil {
		return fmt.Errorf("unpack %s: %w\n%s", name, err, messages.String())
	}
	return readErr
}

func (r Root) read(name string, archive *tar.Reader, keep func(string) bool) error {
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("unpack %s: %w", name, err)
		}
		where := place(header.Name)
		if !keep(where) {
			continue
		}
		file := File{Package: name, Mode: fs.FileMode(header.Mode).Perm()} // #nosec G115 -- Perm keeps nine bits
		switch header.Typeflag {
		case tar.TypeReg:
			if file.Data, err = io.ReadAll(archive); err != nil {
				return fmt.Errorf("unpack %s of %s: %w", header.Name, name, err)
			}
		case tar.TypeSymlink:
			file.Mode |= fs.ModeSymlink
			file.Target = header.Linkname
		case tar.TypeLink:
			first, found := r[place(header.Linkname)]
			if !found {
				return fmt.Errorf("unpack %s: %s is a link to %s, which does not exist", name, header.Name, header.Linkname)
			}
			file.Data = first.Data
		default:
			continue
		}
		r[where] = file
	}
}

// merged lists the top-level directories that are links to the directories of the same name in /usr.
var merged = []string{"bin/", "sbin/", "lib/", "lib32/", "lib64/", "libx32/"}

// place returns the path of a package's file on a system with merged /usr, where /lib, for example, is a link to
// /usr/lib. The path has no leading slash.
func place(name string) string {
	name = strings.TrimPrefix(path.Clean("/"+name), "/")
	for _, folder := range merged {
		if strings.HasPrefix(name, folder) {
			return "usr/" + name
		}
	}
	return name
}

// Follow follows symbolic links from a path to a file. It returns all paths on the way, because all of them are
// needed to reach the file.
func (r Root) Follow(name string) ([]string, error) {
	var passed []string
	for range 40 {
		file, found := r[name]
		if !found {
			return nil, fmt.Errorf("%s was not found in any of the packages: %w", name, fs.ErrNotExist)
		}
		passed = append(passed, name)
		if file.Mode.Type() != fs.ModeSymlink {
			return passed, nil
		}
		target := file.Target
		if !path.IsAbs(target) {
			target = path.Join("/", path.Dir(name), target)
		}
		name = place(target)
	}
	return nil, fmt.Errorf("%s leads into a loop of symbolic links", passed[0])
}

// Control returns the control data of a package, in the format of dpkg's status file.
func Control(ctx context.Context, archive string) ([]byte, error) {
	var messages bytes.Buffer
	command := exec.CommandContext(ctx, "dpkg-deb", "--field", archive)
	command.Stderr = &messages
	text, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("read the control file of %s: %w\n%s", path.Base(archive), err, messages.String())
	}
	return text, nil
}

// Below returns the paths of all files below a directory, sorted.
func (r Root) Below(folder string) []string {
	var found []string
	for _, name := range slices.Sorted(maps.Keys(r)) {
		if strings.HasPrefix(name, folder+"/") {
			found = append(found, name)
		}
	}
	return found
}
