package main

import (
	"bytes"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"sigs.k8s.io/yaml"

	"github.com/storagebench/storagebench/config/render"
	"github.com/storagebench/storagebench/images/image"
)

// release writes images as `make release` does, and returns their folder.
func release(t *testing.T, names ...string) string {
	t.Helper()
	folder := t.TempDir()
	for _, title := range names {
		tree := &image.Tree{}
		if err := tree.File(title, 0o755, []byte("of "+title)); err != nil {
			t.Fatal(err)
		}
		at := time.Unix(0, 0).UTC()
		layer, err := tree.Tar(at)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := image.WriteIndex(filepath.Join(folder, title+"_v1.2.3.oci.tar"),
			image.Image{Name: title, Version: "v1.2.3", Layer: layer, Created: at}); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// TestRelease checks that the pushed images can be pulled by the printed names, and that these names are in the printed
// chart values and overlay.
func TestRelease(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(t.Output(), "", 0))))
	defer server.Close()
	to := strings.TrimPrefix(server.URL, "http://") + "/team/storagebench"
	var out bytes.Buffer
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := run(t.Context(), []string{"-registry", to, "-release", release(t, "operator", "fio", "ior"), "-values", file}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	pushed := map[string]string{}
	for _, reference := range regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(to)+`/(\w+):v1\.2\.3@sha256:[0-9a-f]{64}$`).FindAllStringSubmatch(out.String(), -1) {
		pushed[reference[1]] = reference[0]
		whole, err := name.NewDigest(reference[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := remote.Index(whole, remote.WithContext(t.Context())); err != nil {
			t.Error(err)
		}
	}
	if len(pushed) != 3 {
		t.Fatalf("pushed are %v:\n%s", pushed, out.String())
	}
	_, rest, _ := strings.Cut(out.String(), "For Helm, --values "+file+":\n\n")
	helm, kustomize, _ := strings.Cut(rest, "\nFor kustomize, an overlay beside this repository:\n\n")
	var values struct {
		Image map[string]struct{ Reference string }
	}
	if err := yaml.UnmarshalStrict([]byte(helm), &values); err != nil {
		t.Fatalf("%v:\n%s", err, helm)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != helm {
		t.Errorf("%v: the file of values is\n%s", err, text)
	}
	for title, reference := range pushed {
		if values.Image[title].Reference != reference {
			t.Errorf("the values of %s are %+v, want %s", title, values.Image[title], reference)
		}
	}
	images := render.Images{Operator: pushed["operator"], Fio: pushed["fio"], IOR: pushed["ior"]}
	var overlay struct {
		Resources []string
		Patches   []struct{ Patch string }
	}
	if err := yaml.UnmarshalStrict([]byte(kustomize), &overlay); err != nil || len(overlay.Patches) != 1 || overlay.Patches[0].Patch != images.Patch() {
		t.Errorf("%v: the overlay is\n%s", err, kustomize)
	}
	manifests, err := render.Pinned(os.DirFS("../../config"), render.Metrics, images)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"image: " + pushed["operator"], "value: " + pushed["operator"], "value: " + pushed["fio"], "value: " + pushed["ior"], "--metrics-secure", "POD_NAMESPACE"} {
		if !strings.Contains(string(manifests), want) {
			t.Errorf("config/metrics with the patch has no %q", want)
		}
	}
	if strings.Contains(string(manifests), "storagebench.invalid") {
		t.Error("config/metrics with the patch runs an image that is in no registry")
	}
}

func TestRefused(t *testing.T) {
	for want, arguments := range map[string][]string{
		"make push REGISTRY=":      nil,
		"which never resolves":     {"-registry", "storagebench.invalid"},
		`unexpected argument "x"`:  {"-registry", "a.example", "x"},
		"make release VERSION=":    {"-registry", "a.example", "-release", t.TempDir()},
		"operator_VERSION.oci.tar": {"-registry", "a.example", "-release", release(t, "fio")},
	} {
		if err := run(t.Context(), arguments, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want it to say %q", arguments, err, want)
		}
	}
}
