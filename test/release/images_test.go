package release

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/storagebench/storagebench/images/image/imagetest"
)

// opened returns the index of an image of the release, read from its archive.
func opened(t *testing.T, name string) v1.ImageIndex {
	t.Helper()
	folder := t.TempDir()
	for file, data := range files(t, filepath.Join(made(t), name+"_"+version+".oci.tar")) {
		if strings.HasSuffix(file, "/") {
			continue
		}
		where := filepath.Join(folder, filepath.FromSlash(file))
		if err := errors.Join(os.MkdirAll(filepath.Dir(where), 0o755), os.WriteFile(where, data, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	top, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := top.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		t.Fatalf("the archive of %s has %+v: %v", name, manifest, err)
	}
	entry := manifest.Manifests[0]
	if entry.Annotations["org.opencontainers.image.ref.name"] != version ||
		entry.Annotations["io.containerd.image.name"] != registry+"/"+name+":"+version {
		t.Errorf("%s is called %v", name, entry.Annotations)
	}
	if line := registry + "/" + name + ":" + version + "@" + entry.Digest.String() + "\n"; !strings.Contains(string(readFile(t, filepath.Join(made(t), "images.txt"))), line) {
		t.Errorf("images.txt has no line %q", line)
	}
	index, err := top.ImageIndex(entry.Digest)
	if err != nil {
		t.Fatal(err)
	}
	return index
}

// forArchitecture returns the image that a machine of an architecture would pull.
func forArchitecture(t *testing.T, name, architecture string) v1.Image {
	t.Helper()
	index := opened(t, name)
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range manifest.Manifests {
		if entry.Platform != nil && entry.Platform.OS == "linux" && entry.Platform.Architecture == architecture {
			found, err := index.Image(entry.Digest)
			if err != nil {
				t.Fatal(err)
			}
			return found
		}
	}
	t.Fatalf("%s has no image for %s", name, architecture)
	return nil
}

// content returns the content of an image, in the form of imagetest.
func content(t *testing.T, of v1.Image) imagetest.Opened {
	t.Helper()
	config, err := of.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	layers, err := of.Layers()
	if err != nil || len(layers) != 1 {
		t.Fatalf("%d layers: %v", len(layers), err)
	}
	layer, err := layers[0].Uncompressed()
	if err != nil {
		t.Fatal(err)
	}
	defer layer.Close()
	found := imagetest.Opened{Config: config}
	archive := tar.NewReader(layer)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		var data bytes.Buffer
		if _, err := io.Copy(&data, archive); err != nil {
			t.Fatal(err)
		}
		found.Files = append(found.Files, imagetest.Entry{Header: *header, Data: data.Bytes()})
	}
}

// TestImages checks that every image is complete, has its metadata, and does not run as root.
func TestImages(t *testing.T) {
	for _, name := range []string{"operator", "fio"} {
		index := opened(t, name)
		if err := validate.Index(index); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		manifest, err := index.IndexManifest()
		if err != nil {
			t.Fatal(err)
		}
		images := 0
		for _, platform := range platforms() {
			system, architecture, _ := strings.Cut(platform, "/")
			if system != "linux" {
				continue
			}
			images++
			of := forArchitecture(t, name, architecture)
			whole := content(t, of)
			whole.CheckFiles(t)
			if whole.Config.Architecture != architecture || whole.Config.Config.User != "65532:65532" {
				t.Errorf("%s for %s is for %s and runs as %q", name, architecture, whole.Config.Architecture, whole.Config.Config.User)
			}
			own, err := of.Manifest()
			if err != nil {
				t.Fatal(err)
			}
			for _, said := range []map[string]string{own.Annotations, whole.Config.Config.Labels, manifest.Annotations} {
				if said["org.opencontainers.image.version"] != version || said["org.opencontainers.image.licenses"] == "" || said["org.opencontainers.image.title"] == "" {
					t.Errorf("%s for %s says of itself %v", name, architecture, said)
				}
			}
		}
		if len(manifest.Manifests) != images {
			t.Errorf("%s has %d images, want %d", name, len(manifest.Manifests), images)
		}
	}
}

// TestImagesRun checks that the programs for this machine run in their images and print the version.
func TestImagesRun(t *testing.T) {
	folder := content(t, forArchitecture(t, "operator", runtime.GOARCH)).Unpack(t)
	for _, program := range []string{"/storagebench-operator", "/storagebench-agent"} {
		if out := imagetest.Run(t, folder, program, "-version"); out != version+"\n" {
			t.Errorf("%s -version prints %q", program, out)
		}
	}
	if out := imagetest.Run(t, content(t, forArchitecture(t, "fio", runtime.GOARCH)).Unpack(t), "/usr/bin/fio", "--version"); !strings.HasPrefix(out, "fio-") {
		t.Errorf("fio --version prints %q", out)
	}
}
