package debian

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed" // needed to embed sources.list
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Package identifies a Debian package that apt can download.
type Package struct {
	Name, Version, Architecture string
	// Digest is the digest of the file from the signed lists of the repository, such as SHA256:4f1c....
	Digest string
}

func (p Package) String() string {
	return p.Name + "=" + p.Version + " " + p.Architecture + " " + p.Digest
}

// file returns the file name under which apt saves the package.
func (p Package) file() string {
	return p.Name + "_" + strings.ReplaceAll(p.Version, ":", "%3a") + "_" + p.Architecture + ".deb"
}

// Apt runs this machine's apt with the machine's keys and proxies, but with a separate state directory in which no
// package is installed.
type Apt struct {
	folder       string
	lists        string
	architecture string
	// sources is a file that lists the repositories, or "" to use the machine's repositories.
	sources  string
	progress io.Writer
	unlock   func()
}

// Options configures NewApt.
type Options struct {
	// Cache is a directory in which apt keeps its state.
	Cache string
	// Architecture is the GOARCH of the packages; by default, this machine's.
	Architecture string
	// Fixed makes apt use Debian's own repositories of one release (sources.list, or the file that DebianSources
	// names) instead of this machine's repositories, so that all machines build the same image. If Architecture is
	// not this machine's, apt always uses Debian's repositories, because the machine's package lists do not cover
	// other architectures.
	Fixed bool
	// Progress receives a message before each slow step.
	Progress io.Writer
}

// DebianSources is the environment variable that names a file to use instead of our sources.list. The file can refer
// to a mirror, or to a snapshot from snapshot.debian.org, which still has packages that Debian has replaced.
const DebianSources = "DEBIAN_SOURCES"

//go:embed sources.list
var sources []byte

// systemLists is the directory of the machine's own package lists.
const systemLists = "/var/lib/apt/lists"

// NewApt prepares apt in a directory below the cache. The directory is locked until Close is called.
func NewApt(o Options) (*Apt, error) {
	for _, program := range []string{"apt-get", "dpkg-deb"} {
		if _, err := exec.LookPath(program); err != nil {
			return nil, fmt.Errorf("%s is missing: build the image from Debian packages on a Debian-based system, or use its Dockerfile", program)
		}
	}
	a := &Apt{folder: filepath.Join(o.Cache, "apt"), architecture: cmp.Or(o.Architecture, runtime.GOARCH), progress: o.Progress}
	fixed := o.Fixed || a.architecture != runtime.GOARCH
	if fixed {
		a.folder += "-" + a.architecture
	}
	for _, folder := range []string{"state", "lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(a.folder, folder), 0o755); err != nil {
			return nil, fmt.Errorf("make a directory for apt: %w", err)
		}
	}
	lock, err := os.OpenFile(filepath.Join(a.folder, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open apt's lock file: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil { // #nosec G115 -- file descriptors are small
		_ = lock.Close()
		return nil, fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	a.unlock = func() { _ = lock.Close() }
	if err := os.WriteFile(filepath.Join(a.folder, "status"), nil, 0o644); err != nil {
		a.Close()
		return nil, fmt.Errorf("write an empty list of installed packages: %w", err)
	}
	if !fixed {
		a.lists = a.newerLists()
		return a, nil
	}
	a.lists = filepath.Join(a.folder, "lists")
	if err := a.fix(); err != nil {
		a.Close()
		return nil, err
	}
	return a, nil
}

// fix makes apt use the repositories in our sources.list, or in the file that DebianSources names, instead of the
// machine's repositories.
func (a *Apt) fix() error {
	text, from := sources, os.Getenv(DebianSources)
	if from != "" {
		var err error
		if text, err = os.ReadFile(from); err != nil {
			return fmt.Errorf("read the repository list that %s specifies: %w", DebianSources, err)
		}
	}
	a.sources = filepath.Join(a.folder, "sources.list")
	if err := os.WriteFile(a.sources, text, 0o644); err != nil {
		return fmt.Errorf("write the list of Debian repositories: %w", err)
	}
	return nil
}

// Close unlocks the directory.
func (a *Apt) Close() { a.unlock() }

// newerLists returns the directory with the newer package lists: either the machine's, or the one in a.folder.
func (a *Apt) newerLists() string {
	ours := filepath.Join(a.folder, "lists")
	if changed(ours).After(changed(systemLists)) {
		return ours
	}
	return systemLists
}

// changed returns the time of the last change to a directory of package lists, or the zero time if the directory
// contains no lists.
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

type aptError struct {
	command  string
	cause    error
	messages string
}

func (e *aptError) Error() string {
	return fmt.Sprintf("apt-get %s: %v\n%s", e.command, e.cause, e.messages)
}

func (e *aptError) Unwrap() error { return e.cause }

// Try runs the function do. If do fails because of apt-get, Try updates the package lists and runs do once more,
// because a fresh machine has no lists yet and outdated lists name packages that no longer exist.
func (a *Apt) Try(ctx context.Context, do func() error) error {
	first := do()
	if failed := new(aptError); !errors.As(first, &failed) || ctx.Err() != nil {
		return first
	}
	if err := a.Update(ctx); err != nil {
		return errors.Join(first, err)
	}
	return do()
}

// Update fetches package lists into a directory of the cache, because only root can update the machine's lists.
func (a *Apt) Update(ctx context.Context) error {
	a.lists = filepath.Join(a.folder, "lists")
	_, _ = fmt.Fprintln(a.progress, "Fetching the lists of Debian packages")
	if _, err := a.run(ctx, "", "update", "--error-on=any"); err != nil {
		return fmt.Errorf("fetch the lists of packages: %w", err)
	}
	return nil
}

// Resolve returns packages and all their dependencies, sorted by name.
func (a *Apt) Resolve(ctx context.Context, names ...string) ([]Package, error) {
	text, err := a.run(ctx, "", append([]string{"install", "--print-uris"}, names...)...)
	if err != nil {
		return nil, fmt.Errorf("resolve the dependencies of %s: %w", strings.Join(names, ", "), err)
	}
	packages, err := parseURIs(text)
	if err != nil {
		return nil, fmt.Errorf("resolve the dependencies of %s: %w", strings.Join(names, ", "), err)
	}
	for _, name := range names {
		if !slices.ContainsFunc(packages, func(p Package) bool { return p.Name == name }) {
			return nil, fmt.Errorf("apt-get lists no download URL for %s:\n%s", name, text)
		}
	}
	return packages, nil
}

// Fetch downloads the given packages, as returned by Resolve, to a directory and verifies their digests. It returns the
// paths of the files in the order of the packages.
func (a *Apt) Fetch(ctx context.Context, folder string, packages []Package) ([]string, error) {
	arguments := []string{"download"}
	var files []string
	for _, p := range packages {
		arguments = append(arguments, p.Name+"="+p.Version)
		files = append(files, filepath.Join(folder, p.file()))
	}
	if _, err := a.run(ctx, folder, arguments...); err != nil {
		return nil, fmt.Errorf("download packages: %w; if Debian has replaced the versions in images/lock by newer ones, "+
			"run `make image-lock`, or set %s to a file with repositories that still have them", err, DebianSources)
	}
	for i, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("apt-get did not download package %s: %w", packages[i].Name, err)
		}
		if got := fmt.Sprintf("SHA256:%x", sha256.Sum256(data)); got != packages[i].Digest {
			return nil, fmt.Errorf("package %s, version %s, has the digest %s, want %s", packages[i].Name, packages[i].Version, got, packages[i].Digest)
		}
	}
	return files, nil
}

// run calls apt-get in a directory and returns its output. It uses a state directory in which no package is installed.
func (a *Apt) run(ctx context.Context, folder string, arguments ...string) (string, error) {
	options := []string{
		"--quiet", "--yes", "--no-install-recommends",
		"-o", "Dir::State=" + filepath.Join(a.folder, "state"),
		"-o", "Dir::State::status=" + filepath.Join(a.folder, "status"),
		"-o", "Dir::State::Lists=" + a.lists,
		"-o", "Dir::Cache=" + filepath.Join(a.folder, "cache"),
		// Enable apt's package caches, which Debian's container images disable. Without them, every call takes seconds.
		"-o", "Dir::Cache::pkgcache=pkgcache.bin", "-o", "Dir::Cache::srcpkgcache=srcpkgcache.bin",
		// Disable apt's locks, because NewApt has already locked the directory, and only root can lock the machine's
		// directories.
		"-o", "Debug::NoLocking=true",
		// By default, apt downloads as the user _apt, which cannot write to directories owned by other users.
		"-o", "APT::Sandbox::User=",
		// Without this option, apt-get prints the MD5 digest instead of the SHA256 digest of a package that has both.
		"-o", "Acquire::ForceHash=SHA256",
		"-o", "APT::Architecture=" + a.architecture, "-o", "APT::Architectures::=" + a.architecture,
	}
	if a.sources != "" {
		// Point sourceparts to a directory that does not exist, because the files in the default directory also list
		// repositories of the machine.
		options = append(options, "-o", "Dir::Etc::sourcelist="+a.sources, "-o", "Dir::Etc::sourceparts="+filepath.Join(a.folder, "none"))
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

// uriLine matches a line of --print-uris: 'URI' NAME_VERSION_ARCHITECTURE.deb SIZE SHA256:DIGEST.
var uriLine = regexp.MustCompile(`^'[^']+' ((\S+)_(\S+)_([a-z0-9-]+)\.deb) \d+ (SHA256:[0-9a-f]{64})$`)

// parseURIs extracts the packages from the output of --print-uris, and sorts them by name.
func parseURIs(text string) ([]Package, error) {
	var packages []Package
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "'") {
			continue
		}
		parts := uriLine.FindStringSubmatch(strings.TrimSpace(line))
		if parts == nil {
			return nil, fmt.Errorf("apt-get describes a package in an unknown format: %s", line)
		}
		// In a file name, the colon after the epoch of a Debian version is escaped, so unescape the version.
		version, err := url.PathUnescape(parts[3])
		if err != nil {
			return nil, fmt.Errorf("read the version of %s: %w", parts[1], err)
		}
		found := Package{Name: parts[2], Version: version, Architecture: parts[4], Digest: parts[5]}
		if found.file() != parts[1] {
			return nil, fmt.Errorf("apt-get lists an unexpected file name for %s: %s", found.Name, parts[1])
		}
		packages = append(packages, found)
	}
	slices.SortFunc(packages, func(a, b Package) int { return strings.Compare(a.Name, b.Name) })
	return packages, nil
}
