package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// SearchPath is the PATH in the node: the components first, then the distribution's programs, such as runc.
const SearchPath = programsFolder + ":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

const (
	ownFolder      = "/run/storagebench"
	programsFolder = ownFolder + "/bin"
	sysctlsFolder  = ownFolder + "/sysctls"
)

// setUpMounts makes the node's own /var, /run and /proc.
func (s Spec) setUpMounts() error {
	// Later mounts on the machine propagate to the node, but never in the other direction. Within the node, mounts are
	// shared, as the kubelet requires.
	for _, flags := range []uintptr{unix.MS_SLAVE, unix.MS_SHARED} {
		if err := unix.Mount("", "/", "", flags|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("setting how mounts spread: %w", err)
		}
	}
	// Open these first: the new /var and /run may hide them.
	programs, err := openAll(s.Programs)
	if err != nil {
		return err
	}
	folders, err := openAll(s.Folders)
	if err != nil {
		return err
	}
	if err := unix.Mount(s.Var, "/var", "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mounting %s as the node's /var: %w", s.Var, err)
	}
	if err := unix.Mount("tmpfs", "/run", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"); err != nil {
		return fmt.Errorf("mounting the node's /run: %w", err)
	}
	for _, path := range []string{"/var", "/run"} {
		if err := unix.Mount("", path, "", unix.MS_SHARED, ""); err != nil {
			return fmt.Errorf("sharing the mounts below %s: %w", path, err)
		}
	}
	if err := bindFolders(folders); err != nil {
		return err
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return fmt.Errorf("mounting the node's /proc: %w", err)
	}
	if err := bindPrograms(programs); err != nil {
		return err
	}
	if err := hideSysctls(s.Sysctls); err != nil {
		return err
	}
	return provideKernelLog()
}

func openAll(paths map[string]string) (map[string]*os.File, error) {
	files := make(map[string]*os.File, len(paths))
	for name, path := range paths {
		descriptor, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil, fmt.Errorf("opening %s: %w", path, err)
		}
		files[name] = os.NewFile(uintptr(descriptor), path)
	}
	return files, nil
}

// bindPrograms bind-mounts the programs in the node under their plain names.
func bindPrograms(programs map[string]*os.File) error {
	if err := os.MkdirAll(programsFolder, 0o755); err != nil {
		return fmt.Errorf("making the folder of programs: %w", err)
	}
	for name, file := range programs {
		if err := bindFile("/proc/self/fd/"+strconv.Itoa(int(file.Fd())), filepath.Join(programsFolder, name)); err != nil {
			return err
		}
		_ = file.Close()
	}
	return nil
}

// bindFolders bind-mounts folders of the machine in the node.
func bindFolders(folders map[string]*os.File) error {
	for target, folder := range folders {
		if err := os.MkdirAll(target, 0o755); err != nil {
			return fmt.Errorf("making %s: %w", target, err)
		}
		if err := unix.Mount("/proc/self/fd/"+strconv.Itoa(int(folder.Fd())), target, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("mounting %s: %w", target, err)
		}
		_ = folder.Close()
	}
	return nil
}

func bindFile(source, target string) error {
	file, err := os.OpenFile(target, os.O_CREATE|os.O_RDONLY, 0o755)
	if err != nil {
		return fmt.Errorf("making %s: %w", target, err)
	}
	_ = file.Close()
	if err := unix.Mount(source, target, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mounting %s: %w", target, err)
	}
	return nil
}

// hideSysctls mounts files over kernel settings. The kubelet requires certain values of some settings of the whole
// machine, and writes them if it reads others. A test must not change these settings, and a container cannot.
func hideSysctls(values map[string]string) error {
	if err := os.MkdirAll(sysctlsFolder, 0o755); err != nil {
		return fmt.Errorf("making the folder of kernel settings: %w", err)
	}
	for name, value := range values {
		target := filepath.Join("/proc/sys", name)
		if _, err := os.Stat(target); errors.Is(err, os.ErrNotExist) {
			continue // this kernel has no such setting
		}
		source := filepath.Join(sysctlsFolder, filepath.Base(name))
		if err := os.WriteFile(source, []byte(value+"\n"), 0o644); err != nil {
			return fmt.Errorf("writing the node's %s: %w", name, err)
		}
		if err := unix.Mount(source, target, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("covering the setting %s: %w", name, err)
		}
	}
	return nil
}
