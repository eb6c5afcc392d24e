package image_test

import (
	"log"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/storagebench/storagebench/images/image"
)

func newRegistry(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(t.Output(), "", 0))))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// TestPush checks that an index for two architectures, read from an archive, can be pulled by the name that Push
// returns and has the digest that WriteIndex returned.
func TestPush(t *testing.T) {
	host := newRegistry(t)
	var parts []image.Image
	for _, architecture := range []string{"amd64", "arm64"} {
		parts = append(parts, image.Image{Name: "fio", Version: "v1+dirty", Architecture: architecture, Layer: small(t, architecture), Created: epoch})
	}
	file := filepath.Join(t.TempDir(), "fio.oci.tar")
	digest, err := image.WriteIndex(file, parts...)
	if err != nil {
		t.Fatal(err)
	}
	index, tag, err := image.ReadIndex(file, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	pushed, err := image.Push(t.Context(), host+"/team/", "fio", tag, index)
	if err != nil {
		t.Fatal(err)
	}
	if want := host + "/team/fio:v1-dirty@" + digest; pushed != want {
		t.Errorf("it is called %s, want %s", pushed, want)
	}
	whole, err := name.NewDigest(pushed)
	if err != nil {
		t.Fatal(err)
	}
	pulled, err := remote.Index(whole, remote.WithContext(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(pulled); err != nil {
		t.Error(err)
	}
	manifest, err := pulled.IndexManifest()
	if err != nil || len(manifest.Manifests) != 2 {
		t.Errorf("it has %+v: %v", manifest, err)
	}
}

func TestPushRefuses(t *testing.T) {
	index, err := image.Index(image.Image{Name: "fio", Version: "v1", Layer: small(t, "a"), Created: epoch})
	if err != nil {
		t.Fatal(err)
	}
	for to, want := range map[string]string{
		"Not A Registry": "registry.example/storagebench",
		// No server listens on this port.
		"localhost:1/team": "docker login localhost:1",
	} {
		if _, err := image.Push(t.Context(), to, "fio", "v1", index); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want it to say %q", to, err, want)
		}
	}
	if _, _, err := image.ReadIndex(filepath.Join(t.TempDir(), "gone.oci.tar"), t.TempDir()); err == nil || !strings.Contains(err.Error(), "gone.oci.tar") {
		t.Errorf("an archive that is gone: %v", err)
	}
}
