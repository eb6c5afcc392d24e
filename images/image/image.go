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
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/storagebench/storagebench/internal/version"
)

// User is the user and group of the images: "nonroot", as in distroless images. Pod Security "restricted" requires a
// numeric user other than 0.
const User = "65532:65532"

// Source is the location of the images' source code.
const Source = "https://github.com/storagebench/storagebench"

// Image is the metadata and the files of an image.
type Image struct {
	// Registry, Name and Version form the reference: REGISTRY/NAME:VERSION. The default registry is
	// version.Registry.
	Registry, Name, Version string
	// Architecture is the GOARCH of the programs in the image; by default, this machine's.
	Architecture string
	// Title describes the image in one line.
	Title string
	// Licenses is the SPDX expression for the licences of the image's content.
	Licenses   string
	Entrypoint []string
	// Path is the environment variable PATH in the image, or "" if the image needs no PATH.
	Path string
	// Labels holds labels in addition to those that are derived from the fields above.
	Labels map[string]string
	// Layer is the root file system as a tar archive, as Tree.Tar returns it.
	Layer []byte
	// Created is the creation time of the image.
	Created time.Time
}

// Repository returns the name of the image without its tag.
func (i Image) Repository() string { return cmp.Or(i.Registry, version.Registry) + "/" + i.Name }

// Reference returns the name by which a pod refers to the image.
func (i Image) Reference() string { return i.Repository() + ":" + version.Tag(i.Version) }

// Build builds the image in memory.
func (i Image) Build() (v1.Image, error) {
	return i.build(empty.Image, static.NewLayer(i.Layer, types.DockerUncompressedLayer))
}

// labels returns the labels of the image, under the names that OCI defines.
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

// Write builds the image and writes it to a file, as an archive that docker, podman, containerd and kind can load. An
// existing file is replaced once the new one is complete. Write returns the image's ID, which depends only on the
// image's content.
func (i Image) Write(file string) (string, error) {
	tag, err := name.NewTag(i.Reference())
	if err != nil {
		return "", fmt.Errorf("version %q is not a valid image tag: use at most 128 letters, digits, dots, dashes and underscores: %w", i.Version, err)
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

// Replace writes a file atomically: its name always refers to the complete old file or the complete new file.
func Replace(file string, write func(io.Writer) error) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("make the directory of %s: %w", file, err)
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
		return fmt.Errorf("rename the temporary file to %s: %w", file, err)
	}
	return nil
}

// Time returns the timestamp of everything in an image: SOURCE_DATE_EPOCH (seconds since 1970) if it is set, as
// https://reproducible-builds.org/specs/source-date-epoch/ specifies, otherwise the start of 1970.
func Time() (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		return time.Unix(0, 0).UTC(), nil
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil || seconds < 0 {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH is %q: use whole seconds since 1970, or unset it", text)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// Accounts adds /etc/passwd and /etc/group with root and nonroot, for programs that look up their user's name.
func Accounts(t *Tree) error {
	if err := t.File("etc/passwd", 0o644, []byte("root:x:0:0:root:/:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n")); err != nil {
		return err
	}
	return t.File("etc/group", 0o644, []byte("root:x:0:\nnonroot:x:65532:\n"))
}
