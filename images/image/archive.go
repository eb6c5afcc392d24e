package image

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/gzip"

	"github.com/storagebench/storagebench/internal/version"
)

// OCI builds the image for a release or a registry: in OCI formats, annotated, and with a compressed layer. The digest
// of this image depends on the version of the compressor in go.mod.
func (i Image) OCI() (v1.Image, error) {
	// Compress the layer only once. The package tarball would compress it again each time it is read.
	var compressed bytes.Buffer
	to := gzip.NewWriter(&compressed)
	_, err := to.Write(i.Layer)
	if err = errors.Join(err, to.Close()); err != nil {
		return nil, fmt.Errorf("compress the layer of image %s: %w", i.Name, err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(compressed.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, fmt.Errorf("read the layer of image %s: %w", i.Name, err)
	}
	on := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	built, err := i.build(on, layer)
	if err != nil {
		return nil, err
	}
	return mutate.Annotations(built, i.labels()).(v1.Image), nil
}

// Index combines images for several architectures under one name, so that each machine pulls the one for its
// architecture.
func Index(images ...Image) (v1.ImageIndex, error) {
	var parts []mutate.IndexAddendum
	for _, i := range images {
		built, err := i.OCI()
		if err != nil {
			return nil, err
		}
		platform := i.platform()
		parts = append(parts, mutate.IndexAddendum{Add: built, Descriptor: v1.Descriptor{Platform: &platform}})
	}
	index := mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), parts...)
	return mutate.Annotations(index, images[0].labels()).(v1.ImageIndex), nil
}

// WriteIndex writes an index and its images as an archived OCI layout. `skopeo copy --all oci-archive:FILE` and `ctr
// image import` can read it, and so can `crane push` after it is unpacked. WriteIndex returns the digest of the
// index.
func WriteIndex(file string, images ...Image) (string, error) {
	index, err := Index(images...)
	if err != nil {
		return "", err
	}
	digest, err := index.Digest()
	if err != nil {
		return "", fmt.Errorf("compute the digest of image %s: %w", images[0].Name, err)
	}
	folder, err := os.MkdirTemp("", "image-")
	if err != nil {
		return "", fmt.Errorf("make a directory for an image: %w", err)
	}
	defer os.RemoveAll(folder) //nolint:errcheck // nothing depends on it
	written, err := layout.Write(folder, empty.Index)
	if err == nil {
		// OCI defines the annotation ref.name, in which many tools expect only a tag. containerd reads the full
		// reference from image.name, so set both.
		err = written.AppendIndex(index, layout.WithAnnotations(map[string]string{
			"org.opencontainers.image.ref.name": version.Tag(images[0].Version), "io.containerd.image.name": images[0].Reference(),
		}))
	}
	if err != nil {
		return "", fmt.Errorf("write image %s: %w", images[0].Name, err)
	}
	return digest.String(), Replace(file, func(w io.Writer) error { return archive(w, folder, images[0].Created) })
}

// archive writes the files of a directory to an archive. The same names, contents and time always yield the same
// archive.
func archive(w io.Writer, folder string, at time.Time) error {
	tree := &Tree{}
	err := filepath.WalkDir(folder, func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(folder, file)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		return tree.File(filepath.ToSlash(name), 0o644, data)
	})
	if err != nil {
		return fmt.Errorf("pack a directory: %w", err)
	}
	text, err := tree.Tar(at)
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}
