// Package imagetest handles images like a container runtime: it unpacks them and runs their programs as the image's
// user.
package imagetest

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/storagebench/storagebench/images/image"
)

// Opened is an image that was written to a file and read back, as a runtime would read it.
type Opened struct {
	// ID is the image ID that Write returned.
	ID     string
	Config *v1.ConfigFile
	Files  []Entry
}

// Entry is a file, directory or link of an image.
type Entry struct {
	tar.Header
	Data []byte
}

// Open writes an image to a file and reads it back.
func Open(t *testing.T, made image.Image) Opened {
	t.Helper()
	file := filepath.Join(t.TempDir(), "image.tar")
	id, err := made.Write(file)
	if err != nil {
		t.Fatal(err)
	}
	read, err := tarball.ImageFromPath(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	config, err := read.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	opened := Opened{ID: id, Config: config}
	layers, err := read.Layers()
	if err != nil {
		t.Fatal(err)
	}
	if len(layers) != 1 {
		t.Fatalf("%d layers, want 1", len(layers))
	}
	content, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer content.Close() //nolint:errcheck // it was read
	archive := tar.NewReader(content)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return opened
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		opened.Files = append(opened.Files, Entry{Header: *header, Data: data})
	}
}

// CheckFiles checks the rules for every image: everything belongs to root, and only root may write to it, except for
// /tmp; nothing is setuid, setgid or a device; all times are equal; and no file contains the path of the repository
// on this machine.
func (o Opened) CheckFiles(t *testing.T) {
	t.Helper()
	here, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range o.Files {
		if file.Uid != 0 || file.Gid != 0 {
			t.Errorf("%s belongs to %d:%d, not to root", file.Name, file.Uid, file.Gid)
		}
		if file.Mode&0o6000 != 0 {
			t.Errorf("%s is setuid or setgid: %o", file.Name, file.Mode)
		}
		if file.Mode&0o022 != 0 && file.Typeflag != tar.TypeSymlink && file.Name != "tmp/" {
			t.Errorf("%s is writable by users other than root: %o", file.Name, file.Mode)
		}
		switch file.Typeflag {
		case tar.TypeReg, tar.TypeDir, tar.TypeSymlink:
		default:
			t.Errorf("%s is of type %c: only files, directories and links belong in an image", file.Name, file.Typeflag)
		}
		if !file.ModTime.Equal(o.Config.Created.Time) {
			t.Errorf("%s has modification time %v, want the image's creation time %v", file.Name, file.ModTime, o.Config.Created)
		}
		if bytes.Contains(file.Data, []byte(here)) {
			t.Errorf("%s contains the path of the repository on this machine", file.Name)
		}
	}
}

// Data returns the content of a file of the image.
func (o Opened) Data(t *testing.T, name string) []byte {
	t.Helper()
	for _, file := range o.Files {
		if file.Name == name {
			return file.Data
		}
	}
	t.Fatalf("no %s in the image", name)
	return nil
}

// Unpack writes the image's files to a directory and returns the directory.
func (o Opened) Unpack(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	// The image's user must have access to the directory, no matter which user runs the tests.
	// #nosec G302 -- the image's user needs access
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close() //nolint:errcheck // everything in it is closed
	for _, file := range o.Files {
		if err := unpack(root, file); err != nil {
			t.Fatalf("unpack %s: %v", file.Name, err)
		}
	}
	return folder
}

func unpack(root *os.Root, file Entry) error {
	name := filepath.Clean(file.Name)
	mode := file.FileInfo().Mode()
	switch file.Typeflag {
	case tar.TypeDir:
		if err := root.Mkdir(name, 0o700); err != nil {
			return err
		}
		return root.Chmod(name, mode.Perm()|mode&fs.ModeSticky|0o700)
	case tar.TypeSymlink:
		return root.Symlink(file.Linkname, name)
	}
	return root.WriteFile(name, file.Data, mode.Perm())
}

// Run runs a program in an unpacked image as the image's user, and returns its output. A user other than root needs
// permission to create a user namespace.
func Run(t *testing.T, folder string, arguments ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), arguments[0], arguments[1:]...)
	command.Dir = "/"
	command.Env = []string{"PATH=/usr/bin"}
	command.SysProcAttr = &syscall.SysProcAttr{Chroot: folder}
	if os.Getuid() == 0 {
		command.SysProcAttr.Credential = &syscall.Credential{Uid: 65532, Gid: 65532}
	} else {
		command.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		command.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 65532, HostID: os.Getuid(), Size: 1}}
		command.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 65532, HostID: os.Getgid(), Size: 1}}
	}
	out, err := command.CombinedOutput()
	if errors.Is(err, syscall.EPERM) {
		t.Fatalf("this test runs programs inside an image, which needs root or user namespaces: %v", err)
	}
	if err != nil {
		t.Fatalf("run %v inside the image: %v\n%s", arguments, err, out)
	}
	return string(out)
}
