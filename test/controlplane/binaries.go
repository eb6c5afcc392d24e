package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Versions of what is built. They are those of hack/kubernetes/go.mod and
// hack/kubernetes/etcd/go.mod, which a test compares.
const (
	KubernetesVersion = "v1.36.3"
	EtcdVersion       = "v3.6.16"
)

// binary is a program that is built from a module.
type binary struct {
	name    string
	version string
	// module is the folder of the module below hack, and mainPackage what is
	// built in it.
	module      string
	mainPackage string
	linkerFlags string
	// usual is how long a first build takes on a small machine, for people
	// who wait.
	usual string
}

var (
	apiServerBinary = binary{
		name:        "kube-apiserver",
		version:     KubernetesVersion,
		module:      "kubernetes",
		mainPackage: "k8s.io/kubernetes/cmd/kube-apiserver",
		// Without its version kubectl cannot talk to it.
		linkerFlags: "-s -w -X k8s.io/component-base/version.gitVersion=" + KubernetesVersion,
		usual:       "5 minutes",
	}
	etcdBinary = binary{
		name:        "etcd",
		version:     EtcdVersion,
		module:      "kubernetes/etcd",
		mainPackage: "go.etcd.io/etcd/server/v3",
		linkerFlags: "-s -w",
		usual:       "1 minute",
	}
)

// Binaries are the paths of the built programs.
type Binaries struct {
	Etcd      string
	APIServer string
}

// Build gives the programs, building what the cache does not hold. Lines about
// what it does and how long that takes go to progress. Several processes may
// build at once; one does and the others wait for it.
func Build(ctx context.Context, progress io.Writer) (Binaries, error) {
	root, err := repositoryRoot()
	if err != nil {
		return Binaries{}, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return Binaries{}, fmt.Errorf("finding the cache directory (set XDG_CACHE_HOME or HOME): %w", err)
	}
	builder := builder{
		root:     root,
		cache:    filepath.Join(cache, "storagebench", "bin"),
		progress: progress,
	}
	etcd, err := builder.get(ctx, etcdBinary)
	if err != nil {
		return Binaries{}, err
	}
	apiServer, err := builder.get(ctx, apiServerBinary)
	if err != nil {
		return Binaries{}, err
	}
	return Binaries{Etcd: etcd, APIServer: apiServer}, nil
}

// fileName is the name in the cache: what it was built from, with what, for
// what.
func (b binary) fileName() string {
	return strings.Join([]string{b.name, b.version, runtime.Version(), runtime.GOOS, runtime.GOARCH}, "-")
}

// repositoryRoot finds the folder of this module at or above the working
// directory.
func repositoryRoot() (string, error) {
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
