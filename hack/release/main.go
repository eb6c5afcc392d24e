// Command release builds everything in a release and writes it to bin/release:
//
//	go run ./hack/release -version v1.2.3
//
// A release contains the chart, images for amd64 and arm64, archives of the command-line tool for linux and darwin,
// install.yaml, the manifest for krew, a bill of materials for each image and archive, and checksums. The same source,
// version and Go version always yield the same bytes, no matter when, where or by whom the release is built. RELEASE.md
// describes the other steps of a release.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"github.com/storagebench/storagebench/config/render"
	"github.com/storagebench/storagebench/hack/command"
)

func main() {
	command.Main(run)
}

// release holds the settings and the intermediate results of a release.
type release struct {
	version   string
	output    string
	platforms []platform
	// url is the base URL from which users will download the files.
	url string
	// registry is the registry to which the images will be pushed, or "" if they will not be pushed.
	registry string
	// published holds the names of the images with their digests.
	published render.Images
	// ior is a directory that contains ARCH/ior and ARCH/mdtest for each architecture, or "" for a release without the IOR
	// image.
	ior string
	// locked selects the Debian packages pinned in images/lock. Otherwise Debian's current packages are used.
	locked bool
	// programs is a temporary directory for the built programs, before they are packed into images and archives.
	programs string
}

type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "/" + p.arch }

const everyPlatform = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64"

func run(ctx context.Context) error {
	r := release{}
	only := flag.String("only", "", "set to archives to build only the archives of the command-line tool")
	platforms := flag.String("platforms", everyPlatform, "platforms to build the command line for; images are built only for the Linux platforms in the list")
	renew := flag.Bool("renew", false, "after the build, store the CRDs of this version as the compatibility baseline for later versions")
	flag.BoolVar(&r.locked, "locked", true, "build the images from the packages in images/lock; -locked=false uses Debian's current packages, for a trial release")
	flag.StringVar(&r.version, "version", "", "version of the release, such as v1.2.3")
	flag.StringVar(&r.output, "output", "bin/release", "output directory, which is emptied first")
	flag.StringVar(&r.url, "url", "", "URL from which the files will be downloaded, for the krew manifest (default: the project's releases on GitHub)")
	flag.StringVar(&r.registry, "registry", "", "registry to which the images will be pushed, such as ghcr.io/OWNER/storagebench; the chart and "+
		"install.yaml refer to the images in this registry by digest")
	flag.StringVar(&r.ior, "ior", os.Getenv("IOR_PROGRAMS"), "directory with ARCH/ior and ARCH/mdtest, for the IOR image")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("unexpected arguments %q: use flags", flag.Args())
	}
	if err := r.check(*only); err != nil {
		return err
	}
	for name := range strings.SplitSeq(*platforms, ",") {
		if !slices.Contains(strings.Split(everyPlatform, ","), name) {
			return fmt.Errorf("-platforms: unknown platform %q: use %s", name, everyPlatform)
		}
		system, arch, _ := strings.Cut(name, "/")
		r.platforms = append(r.platforms, platform{system, arch})
	}
	if r.url == "" {
		r.url = "https://github.com/storagebench/storagebench/releases/download/" + r.version
	}
	if err := r.compatible(); err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(r.output), os.MkdirAll(r.output, 0o755)); err != nil {
		return fmt.Errorf("empty the directory of the release: %w", err)
	}
	folder, err := os.MkdirTemp("", "release-")
	if err != nil {
		return fmt.Errorf("make a directory for programs: %w", err)
	}
	defer os.RemoveAll(folder) //nolint:errcheck // nothing depends on it
	r.programs = folder
	steps := []func(context.Context) error{r.archives, r.krew, r.images, r.chart, r.manifests, r.sums}
	if *only != "" {
		steps = []func(context.Context) error{r.archives, r.krew, r.sums}
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	if *renew {
		return r.renew()
	}
	return nil
}

// released matches the name of a release: a semantic version (https://semver.org), as charts require, with a leading
// v.
var released = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$`)

func (r release) check(only string) error {
	switch {
	case only != "" && only != "archives":
		return fmt.Errorf("-only %q: use archives, or omit the flag to build everything", only)
	case only == "archives" && !regexp.MustCompile(`^[A-Za-z0-9._+-]+$`).MatchString(r.version):
		return fmt.Errorf("-version %q: use only letters, digits, and . _ + -", r.version)
	case only == "" && !released.MatchString(r.version):
		return fmt.Errorf("-version %q: use a version such as v1.2.3 or v1.2.3-rc.1, as in `make release VERSION=v1.2.3`", r.version)
	}
	if r.registry != "" {
		if _, err := name.NewRepository(r.registry+"/operator", name.StrictValidation); err != nil {
			return fmt.Errorf("-registry %q: use a registry with a path, such as ghcr.io/OWNER/storagebench: %w", r.registry, err)
		}
	}
	if _, err := os.Stat("go.mod"); err != nil {
		return fmt.Errorf("run this in the root of the repository: %w", err)
	}
	return nil
}

// file returns the path of the release file with the given name.
func (r release) file(name string) string { return filepath.Join(r.output, name) }
