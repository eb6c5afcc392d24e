package image

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// Push uploads an index with its images to a registry as REGISTRY/NAME:TAG, and returns this name with the digest.
// It uses the credentials of `docker login` or `podman login`.
func Push(ctx context.Context, registry, title, tag string, index v1.ImageIndex) (string, error) {
	whole := strings.TrimSuffix(registry, "/") + "/" + title + ":" + tag
	to, err := name.NewTag(whole, name.StrictValidation)
	if err != nil {
		return "", fmt.Errorf("%q is not a valid image name: use a registry such as registry.example/storagebench: %w", whole, err)
	}
	digest, err := index.Digest()
	if err != nil {
		return "", fmt.Errorf("compute the digest of image %s: %w", whole, err)
	}
	err = remote.WriteIndex(to, index, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain))
	if err != nil {
		return "", fmt.Errorf("push image %s (if access is denied, run `docker login %s`): %w", whole, to.RegistryStr(), err)
	}
	return whole + "@" + digest.String(), nil
}

// ReadIndex unpacks an archive written by WriteIndex into a directory, and returns the index and its tag. The index
// loads images from the directory on demand, so keep the directory until the index is no longer used.
func ReadIndex(file, folder string) (index v1.ImageIndex, tag string, err error) {
	if err := unpack(file, folder); err != nil {
		return nil, "", fmt.Errorf("unpack image %s: %w", file, err)
	}
	top, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		return nil, "", fmt.Errorf("read image %s: %w", file, err)
	}
	manifest, err := top.IndexManifest()
	if err != nil {
		return nil, "", fmt.Errorf("read image %s: %w", file, err)
	}
	if len(manifest.Manifests) != 1 {
		return nil, "", fmt.Errorf("image archive %s contains %d images, want 1: use an archive that `make release` wrote", file,
			len(manifest.Manifests))
	}
	entry := manifest.Manifests[0]
	if index, err = top.ImageIndex(entry.Digest); err != nil {
		return nil, "", fmt.Errorf("read image %s: %w", file, err)
	}
	return index, entry.Annotations["org.opencontainers.image.ref.name"], nil
}

// unpack writes the regular files of a tar archive to a directory. It returns an error if a name refers to a path
// outside the directory.
func unpack(file, folder string) error {
	from, err := os.Open(file)
	if err != nil {
		return err
	}
	defer from.Close() //nolint:errcheck // it is only read
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // nothing depends on it
	archive := tar.NewReader(from)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		if err := root.MkdirAll(filepath.Dir(header.Name), 0o755); err != nil {
			return err
		}
		to, err := root.Create(header.Name)
		if err != nil {
			return err
		}
		_, err = io.CopyN(to, archive, header.Size)
		if err := errors.Join(err, to.Close()); err != nil {
			return err
		}
	}
}
