package debian

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Package is a Debian package as apt would fetch it.
type Package struct {
	Name, Version, Architecture string
	// Digest of the file as the signed lists of the repository give it, such as SHA256:4f1c....
	Digest string
	// file is what the file is called.
	file string
}

func (p Package) String() string {
	return p.Name + "=" + p.Version + " " + p.Architecture + " " + p.Digest
}

// Apt asks the apt of this machine: its repositories, keys and proxies, but a state of its own in which
// nothing is installed.
type Apt struct {
	folder   string
	lists    string
	progress io.Writer
	unlock   func()
}

// systemLists is where the machine's own lists of packages are.
const systemLists = "/var/lib/apt/lists"

// NewApt prepares apt in a folder below cache, which it keeps for itself until Close. What it does goes to
// progress.
func NewApt(cache string, progress io.Writer) (*Apt, error) {
	for _, program := range []string{"apt-get", "dpkg-deb"} {
		if _, err := exec.LookPath(program); err != nil {
			return nil, fmt.Errorf("%s is missing: the image is made of Debian packages; build it on a Debian-like machine, or use the Dockerfile", program)
		}
	}
	a := &Apt{folder: filepath.Join(cache, "apt"), progress: progress}
	for _, folder := range []string{"state", "lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(a.folder, folder), 0o755); err != nil {
			return nil, fmt.Errorf("make a folder for apt: %w", err)
		}
	}
	lock, err := os.OpenFile(filepath.Join(a.folder, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock of apt: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil { // #nosec G115 -- a descriptor
		_ = lock.Close()
		return nil, fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	a.unlock = func() { _ = lock.Close() }
	if err := os.WriteFile(filepath.Join(a.folder, "status"), nil, 0o644); err != nil {
		a.Close()
		return nil, fmt.Errorf("write an empty list of installed packages: %w", err)
	}
	a.lists = a.newerLists()
	return a, nil
}

// Close lets others use the folder.
func (a *Apt) Close() { a.unlock() }

// newerLists are the machine's own lists of packages, or ours where those are newer.
func (a *Apt) newerLists() string {
	ours := filepath.Join(a.folder, "lists")
	if changed(ours).After(changed(systemLists)) {
		return ours
	}
	return systemLists
}

// changed is when a folder of lists got its newest one; the zero time where it holds none.
func changed(lists string) time.Time {
	releases, err := filepath.Glob(filepath.Join(lists, "*Release"))
	if err != nil || len(releases) == 0 {
		return time.Time{}
	}
	info, err := os.Stat(lists)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// aptError is a failure of apt-get.
type aptError struct {
	command  string
	cause    error
	messages string
}

func (e *aptError) Error() string {
	return fmt.Sprintf("apt-get %s: %v\n%s", e.command, e.cause, e.messages)
}

func (e *aptError) Unwrap() error { return e.cause }

// Try does something with packages. Where apt-get fails it is tried once more with fresh lists: a fresh
// machine has none yet, and old ones name packages that are gone.
func (a *Apt) Try(ctx context.Context, do func() error) error {
	first := do()
	if failed := new(aptError); !errors.As(first, &failed) || ctx.Err() != nil {
		return first
	}
	// Beside the machine's own lists, which are root's.
	a.lists = filepath.Join(a.folder, "lists")
	_, _ = fmt.Fprintln(a.progress, "Fetching the lists of Debian packages")
	if _, err := a.run(ctx, "", "update", "--error-on=any"); err != nil {
		return errors.Join(first, fmt.Errorf("fetch the lists of packages: %w", err))
	}
	return do()
}

// Resolve gives packages and all that they depend on, sorted by name.
func (a *Apt) Resolve(ctx context.Context, names ...string) ([]Package, error) {
	text, err := a.run(ctx, "", append([]string{"install", "--print-uris"}, names...)...)
	if err != nil {
		return nil, fmt.Errorf("find what %s depends on: %w", strings.Join(names, ", "), err)
	}
	packages, err := parseURIs(text)
	if err != nil {
		return nil, fmt.Errorf("find what %s depends on: %w", strings.Join(names, ", "), err)
	}
	for _, name := range names {
		if !slices.ContainsFunc(packages, func(p Package) bool { return p.Name == name }) {
			return nil, fmt.Errorf("apt-get does not say where it would get %s from:\n%s", name, text)
		}
	}
	return packages, nil
}

// Fetch downloads packages that Resolve gave into a folder. The result is the files in the order of the
// packages.
func (a *Apt) Fetch(ctx context.Context, folder string, packages []Package) ([]string, error) {
	arguments := []string{"download"}
	var files []string
	for _, p := range packages {
		arguments = append(arguments, p.Name+"="+p.Version)
		files = append(files, filepath.Join(folder, p.file))
	}
	if _, err := a.run(ctx, folder, arguments...); err != nil {
		return nil, fmt.Errorf("download packages: %w", err)
	}
	for i, file := range files {
		if _, err := os.Stat(file); err != nil {
			return nil, fmt.Errorf("apt-get downloaded no package %s: %w", packages[i].Name, err)
		}
	}
	return files, nil
}

// run calls apt-get in a folder with a state in which nothing is installed.
func (a *Apt) run(ctx context.Context, folder string, arguments ...string) (string, error) {
	options := []string{
		"--quiet", "--yes", "--no-install-recommends",
		"-o", "Dir::State=" + filepath.Join(a.folder, "state"),
		"-o", "Dir::State::status=" + filepath.Join(a.folder, "status"),
		"-o", "Dir::State::Lists=" + a.lists,
		"-o", "Dir::Cache=" + filepath.Join(a.folder, "cache"),
		// Container images of Debian turn these caches off, which makes every call take seconds.
		"-o", "Dir::Cache::pkgcache=pkgcache.bin", "-o", "Dir::Cache::srcpkgcache=srcpkgcache.bin",
		// The lock is ours; those of the machine belong to root.
		"-o", "Debug::NoLocking=true",
		// The user _apt could not write into the folders of others.
		"-o", "APT::Sandbox::User=",
		// Else it is the MD5 that is printed, where there is one.
		"-o", "Acquire::ForceHash=SHA256",
	}
	command := exec.CommandContext(ctx, "apt-get", append(options, arguments...)...)
	command.Dir = folder
	command.Env = append(os.Environ(), "LC_ALL=C", "DEBIAN_FRONTEND=noninteractive")
	var out, messages bytes.Buffer
	command.Stdout, command.Stderr = &out, &messages
	if err := command.Run(); err != nil {
		return "", &aptError{command: arguments[0], cause: err, messages: strings.TrimSpace(messages.String())}
	}
	return out.String(), nil
}

// uriLine is what --print-uris says of a file: 'URI' NAME_VERSION_ARCHITECTURE.deb SIZE SHA256:DIGEST.
var uriLine = regexp.MustCompile(`^'[^']+' ((\S+)_(\S+)_([a-z0-9-]+)\.deb) \d+ (SHA256:[0-9a-f]{64})$`)

// parseURIs reads what --print-uris printed among other things, and sorts it.
func parseURIs(text string) ([]Package, error) {
	var packages []Package
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "'") {
			continue
		}
		parts := uriLine.FindStringSubmatch(strings.TrimSpace(line))
		if parts == nil {
			return nil, fmt.Errorf("apt-get describes a package in a form that is not known: %s", line)
		}
		// An epoch's colon is escaped in the name of the file.
		version, err := url.PathUnescape(parts[3])
		if err != nil {
			return nil, fmt.Errorf("read the version of %s: %w", parts[1], err)
		}
		packages = append(packages, Package{Name: parts[2], Version: version, Architecture: parts[4], Digest: parts[5], file: parts[1]})
	}
	slices.SortFunc(packages, func(a, b Package) int { return strings.Compare(a.Name, b.Name) })
	return packages, nil
}
