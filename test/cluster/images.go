package cluster

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/storagebench/storagebench/test/binaries"
)

// loadedImages records the loaded archives, identified by their digests, and their images.
type loadedImages struct {
	// Archives maps an archive to the names of its images.
	Archives map[string][]string `json:"archives"`
	// Images maps the name of an image to the archive from which it was last loaded.
	Images map[string]string `json:"images"`
}

func (s State) loadedImages() loadedImages {
	var loaded loadedImages
	if data, err := os.ReadFile(s.imagesFile()); err == nil && json.Unmarshal(data, &loaded) != nil {
		loaded = loadedImages{} // the images are loaded again
	}
	if loaded.Archives == nil || loaded.Images == nil {
		loaded = loadedImages{Archives: map[string][]string{}, Images: map[string]string{}}
	}
	return loaded
}

// current reports whether all images of an archive are present and have not been replaced from another archive.
func (l loadedImages) current(archive string, present map[string]string) bool {
	for _, image := range l.Archives[archive] {
		if l.Images[image] != archive || present[image] == "" {
			return false
		}
	}
	return len(l.Archives[archive]) > 0
}

// LoadImage loads the images of an archive, in the format of `docker save` or an OCI layout, on all nodes, and returns
// their names. A node that is not running gets them when it is started again. Loading an archive again takes only the
// time to read it.
func (s State) LoadImage(ctx context.Context, progress io.Writer, archive string) ([]string, error) {
	if err := needRoot(); err != nil {
		return nil, err
	}
	if _, err := s.NodePID(); err != nil {
		return nil, err // before the lock, which makes the folder
	}
	unlock, err := s.lock(progress)
	if err != nil {
		return nil, err
	}
	defer unlock()
	known, err := s.running()
	if err != nil {
		return nil, err
	}
	file, err := os.Open(archive)
	if err != nil {
		return nil, fmt.Errorf("opening the archive: %w", err)
	}
	defer file.Close() //nolint:errcheck // only read
	names, err := s.loadImage(ctx, known, file)
	if err != nil {
		return nil, err
	}
	for _, m := range s.members(known)[1:] {
		if !known.process(m).alive() {
			continue
		}
		if err := s.copyImages(ctx, known, m); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// copyImages copies images that a node lacks from the first node.
func (s State) copyImages(ctx context.Context, known record, m Member) error {
	wanted, err := imageDigests(ctx, known.Init)
	if err != nil {
		return err
	}
	has, err := imageDigests(ctx, known.process(m))
	if err != nil {
		return err
	}
	maps.DeleteFunc(wanted, func(image, digest string) bool { return has[image] == digest })
	if len(wanted) == 0 {
		return nil
	}
	reader, writer := io.Pipe()
	go func() {
		var complaint bytes.Buffer
		export := ctrCommand(ctx, known.Init, append([]string{"images", "export", "--local", "-"}, slices.Sorted(maps.Keys(wanted))...)...)
		export.Stdout, export.Stderr = writer, &complaint
		err := export.Run()
		if err != nil {
			err = fmt.Errorf("exporting from %s: %w: %s", NodeName, err, strings.TrimSpace(complaint.String()))
		}
		_ = writer.CloseWithError(err) // always nil
	}()
	_, err = ctr(ctx, known.process(m), reader, "images", "import", "--local", "--snapshotter="+s.snapshotter(), "-")
	_ = reader.Close() // always nil
	if err != nil {
		return fmt.Errorf("copying images to node %s: %w", m.Name(), err)
	}
	return nil
}

func (s State) loadImage(ctx context.Context, known record, archive io.ReadSeeker) ([]string, error) {
	sum := sha256.New()
	if _, err := io.Copy(sum, archive); err != nil {
		return nil, fmt.Errorf("reading the archive: %w", err)
	}
	digest := hex.EncodeToString(sum.Sum(nil))
	before, err := imageDigests(ctx, known.Init)
	if err != nil {
		return nil, err
	}
	loaded := s.loadedImages()
	if loaded.current(digest, before) {
		return loaded.Archives[digest], nil
	}
	if _, err := archive.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("reading the archive again: %w", err)
	}
	names, err := s.importImages(ctx, known, archive)
	if err != nil {
		return nil, err
	}
	loaded.Archives[digest] = names
	for _, image := range names {
		loaded.Images[image] = digest
	}
	data, err := json.MarshalIndent(loaded, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("noting what was loaded: %w", err)
	}
	return names, writeFile(s.imagesFile(), append(data, '\n'), 0o644)
}

func (s State) importImages(ctx context.Context, known record, archive io.Reader) ([]string, error) {
	output, err := ctr(ctx, known.Init, archive, "images", "import", "--local", "--snapshotter="+s.snapshotter(), "-")
	if err != nil {
		return nil, fmt.Errorf("importing the archive: %w", err)
	}
	var names []string
	for line := range strings.Lines(output) {
		// "unpacking NAME (DIGEST)...done"
		if fields := strings.Fields(line); len(fields) >= 2 && fields[0] == "unpacking" {
			names = append(names, fields[1])
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("no image with a name is in the archive: %s", strings.TrimSpace(output))
	}
	return names, nil
}

// imageDigests returns the digests of a node's images by name.
func imageDigests(ctx context.Context, init process) (map[string]string, error) {
	output, err := ctr(ctx, init, nil, "images", "list")
	if err != nil {
		return nil, fmt.Errorf("listing the images of the node: %w", err)
	}
	digests := map[string]string{}
	for line := range strings.Lines(output) {
		// "REF TYPE DIGEST SIZE PLATFORMS LABELS"
		if fields := strings.Fields(line); len(fields) > 2 && strings.HasPrefix(fields[2], "sha256:") {
			digests[fields[0]] = fields[2]
		}
	}
	return digests, nil
}

// snapshotter returns the snapshotter that containerd is configured to use.
func (s State) snapshotter() string {
	data, err := os.ReadFile(s.outside(nodeConfigs + "/containerd.toml"))
	if err == nil && bytes.Contains(data, []byte(`snapshotter = "native"`)) {
		return "native"
	}
	return "overlayfs"
}

// ctrCommand returns a command that runs ctr, the client of containerd, in a node.
func ctrCommand(ctx context.Context, init process, arguments ...string) *exec.Cmd {
	return enter(ctx, init.PID, append([]string{binaries.Ctr, "--namespace=k8s.io"}, arguments...))
}

func ctr(ctx context.Context, init process, input io.Reader, arguments ...string) (string, error) {
	command := ctrCommand(ctx, init, arguments...)
	var output, complaint bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = input, &output, &complaint
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("%w: %s", err, strings.TrimSpace(complaint.String()))
	}
	return output.String(), nil
}

// loadPause builds and loads the pause image, which every pod needs. Building it here avoids the need for a registry.
func (s State) loadPause(ctx context.Context, progress io.Writer, known record) error {
	programs, err := binaries.Build(ctx, progress, binaries.Pause)
	if err != nil {
		return err
	}
	program, err := os.ReadFile(programs[binaries.Pause])
	if err != nil {
		return fmt.Errorf("reading the pause program: %w", err)
	}
	archive, err := ProgramImage(PauseImage, "pause", program)
	if err != nil {
		return err
	}
	_, err = s.loadImage(ctx, known, bytes.NewReader(archive))
	return err
}

// ProgramImage returns an archive with an image that contains one static program, its entrypoint, and runs it as user
// 65534. Equal input yields equal bytes.
func ProgramImage(image, program string, content []byte) ([]byte, error) {
	tag, err := name.NewTag(image)
	if err != nil {
		return nil, fmt.Errorf("naming the image: %w", err)
	}
	var files bytes.Buffer
	writer := tar.NewWriter(&files)
	header := &tar.Header{Name: program, Mode: 0o755, Size: int64(len(content)), Typeflag: tar.TypeReg}
	if err := writer.WriteHeader(header); err != nil {
		return nil, fmt.Errorf("packing %s: %w", program, err)
	}
	if _, err := writer.Write(content); err != nil {
		return nil, fmt.Errorf("packing %s: %w", program, err)
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("packing %s: %w", program, err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(files.Bytes())), nil
	})
	if err != nil {
		return nil, fmt.Errorf("making the layer of %s: %w", image, err)
	}
	built, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		return nil, fmt.Errorf("making the image %s: %w", image, err)
	}
	config, err := built.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("making the image %s: %w", image, err)
	}
	config = config.DeepCopy()
	config.Architecture, config.OS = runtime.GOARCH, "linux"
	config.Config = v1.Config{Entrypoint: []string{"/" + program}, User: "65534:65534"}
	if built, err = mutate.ConfigFile(built, config); err != nil {
		return nil, fmt.Errorf("making the image %s: %w", image, err)
	}
	var archive bytes.Buffer
	if err := tarball.Write(tag, built, &archive); err != nil {
		return nil, fmt.Errorf("packing the image %s: %w", image, err)
	}
	return archive.Bytes(), nil
}
