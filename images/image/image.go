package image

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// User is whom the images run as: the "nonroot" that distroless made customary. Pod Security "restricted"
// asks for some number that is not 0.
const User = "65532:65532"

// Registry is the first part of the images' names. Nothing is served there; the images are loaded into a
// cluster, or pushed under another name.
const Registry = "storagebench.dev"

// Source is where the code of the images is.
const Source = "https://github.com/storagebench/storagebench"

// Image is what an image says of itself, and its files.
type Image struct {
	// Name and Version make its reference: storagebench.dev/NAME:VERSION.
	Name, Version string
	// Architecture of the programs in it, as Go calls it; empty for that of this machine.
	Architecture string
	// Title is a line for people.
	Title string
	// Licenses is an SPDX expression.
	Licenses   string
	Entrypoint []string
	// Path is where programs are looked for; empty where the entrypoint is all there is.
	Path string
	// Labels beside those of the fields above.
	Labels map[string]string
	// Layer is the root file system as Tree.Tar wrote it.
	Layer []byte
	// Created is the time of the image.
	Created time.Time
}

// Reference is the name that a pod asks for the image by. A tag has no plus sign, which the version of a
// changed tree may have; the operator makes its defaults by the same rule.
func (i Image) Reference() string {
	return Registry + "/" + i.Name + ":" + i.tag()
}

func (i Image) tag() string { return strings.ReplaceAll(i.Version, "+", "-") }

// Build makes the image in memory.
func (i Image) Build() (v1.Image, error) {
	return i.build(empty.Image, static.NewLayer(i.Layer, types.DockerUncompressedLayer))
}

// Labels that the image has, under the names that OCI has for them.
func (i Image) labels() map[string]string {
	all := map[string]string{
		"org.opencontainers.image.title":         i.Title,
		"org.opencontainers.image.version":       i.Version,
		"org.opencontainers.image.licenses":      i.Licenses,
		"org.opencontainers.image.source":        Source,
		"org.opencontainers.image.documentation": Source + "/blob/main/README.md",
	}
	maps.Copy(all, i.Labels)
	return all
}

func (i Image) build(on v1.Image, layer v1.Layer) (v1.Image, error) {
	built, err := mutate.AppendLayers(on, layer)
	if err != nil {
		return nil, fmt.Errorf("add the layer of image %s: %w", i.Name, err)
	}
	file, err := built.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("read the configuration of image %s: %w", i.Name, err)
	}
	file = file.DeepCopy()
	file.Architecture, file.OS = i.platform().Architecture, i.platform().OS
	file.Created = v1.Time{Time: i.Created}
	file.History = []v1.History{{Created: v1.Time{Time: i.Created}, CreatedBy: "go run ./images/build " + i.Name}}
	file.Config = v1.Config{User: User, WorkingDir: "/", Entrypoint: i.Entrypoint, Labels: i.labels()}
	if i.Path != "" {
		file.Config.Env = []string{"PATH=" + i.Path}
	}
	built, err = mutate.ConfigFile(built, file)
	if err != nil {
		return nil, fmt.Errorf("set the configuration of image %s: %w", i.Name, err)
	}
	return built, nil
}

func (i Image) platform() v1.Platform {
	return v1.Platform{OS: "linux", Architecture: cmp.Or(i.Architecture, runtime.GOARCH)}
}

// Write makes the image and writes it to a file, as an archive that docker, podman, containerd and kind
// load. A file that is there is replaced when the new one is complete. The result is the image's ID,
// which depends on nothing but the image.
func (i Image) Write(file string) (string, error) {
	tag, err := name.NewTag(i.Reference())
	if err != nil {
		return "", fmt.Errorf("version %q cannot be the tag of an image: use letters, digits, dots, dashes and underscores, at most 128: %w", i.Version, err)
	}
	built, err := i.Build()
	if err != nil {
		return "", err
	}
	id, err := built.ConfigName()
	if err != nil {
		return "", fmt.Errorf("compute the ID of image %s: %w", i.Name, err)
	}
	err = Replace(file, func(w io.Writer) error { return tarball.Write(tag, built, w) })
	if err != nil {
		return "", fmt.Errorf("write image %s: %w", i.Name, err)
	}
	return id.String(), nil
}

// Replace writes a file so that at its name there is the old or the whole new one at any time.
func Replace(file string, write func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("make the folder of %s: %w", file, err)
	}
	temporary, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+"-")
	if err != nil {
		return fmt.Errorf("begin %s: %w", file, err)
	}
	defer os.Remove(temporary.Name()) //nolint:errcheck // gone after the renaming
	defer temporary.Close()           //nolint:errcheck // closed below where it matters
	if err := write(temporary); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	if err := temporary.Chmod(0o644); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	if err := temporary.Close(); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	if err := os.Rename(temporary.Name(), file); err != nil {
		return fmt.Errorf("put %s in place: %w", file, err)
	}
	return nil
}

// Time is the time that all in an image gets: SOURCE_DATE_EPOCH (seconds since 1970) where it is set, as
// https://reproducible-builds.org/specs/source-date-epoch/ asks, else 1970.
func Time() (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		return time.Unix(0, 0).UTC(), nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || seconds < 0 {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH is %q: write whole seconds since 1970, or unset it", text)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// Accounts adds /etc/passwd and /etc/group with root and nonroot, for programs that ask for the name of
// their user.
func Accounts(t *Tree) error {
	if err := t.File("etc/passwd", 0o644, []byte("root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n")); err != nil {
		return err
	}
	return t.File("etc/group", 0o644, []byte("root:x:0:\nnonroot:x:65532:\n"))
}
