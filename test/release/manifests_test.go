package release

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestKrew checks that the krew manifest lists every archive with its checksum.
func TestKrew(t *testing.T) {
	folder := made(t)
	var manifest struct {
		APIVersion, Kind string
		Metadata         struct{ Name string }
		Spec             struct {
			Version, Homepage, ShortDescription, Description string
			Platforms                                        []struct {
				Selector         struct{ MatchLabels map[string]string }
				URI, SHA256, Bin string
			}
		}
	}
	text := readFile(t, filepath.Join(folder, "storagebench.yaml"))
	if err := yaml.UnmarshalStrict(text, &manifest); err != nil {
		t.Fatal(err)
	}
	if manifest.APIVersion != "krew.googlecontainertools.github.com/v1alpha2" || manifest.Kind != "Plugin" || manifest.Metadata.Name != "storagebench" ||
		manifest.Spec.Version != version {
		t.Errorf("it is %+v", manifest)
	}
	// krew's own rules for manifests in its index.
	if d := manifest.Spec.ShortDescription; d == "" || len(d) > 80 || strings.HasSuffix(d, ".") || manifest.Spec.Description == "" {
		t.Errorf("the descriptions are %q and %q", d, manifest.Spec.Description)
	}
	if bytes.Contains(text, []byte("SHA256_")) || bytes.Contains(text, []byte("VERSION")) || bytes.Contains(text, []byte("URL/")) {
		t.Errorf("something is not filled in:\n%s", text)
	}
	seen := map[string]bool{}
	for _, platform := range manifest.Spec.Platforms {
		name := platform.Selector.MatchLabels["os"] + "/" + platform.Selector.MatchLabels["arch"]
		seen[name] = true
		archive := archiveOf(name)
		if want := "https://github.com/storagebench/storagebench/releases/download/" + version + "/" + archive; platform.URI != want {
			t.Errorf("%s is at %s, want %s", name, platform.URI, want)
		}
		if want := fmt.Sprintf("%x", sha256.Sum256(readFile(t, filepath.Join(folder, archive)))); platform.SHA256 != want {
			t.Errorf("%s has the sum %s, want %s", name, platform.SHA256, want)
		}
		if files(t, filepath.Join(folder, archive))[platform.Bin] == nil {
			t.Errorf("the archive for %s has no %s", name, platform.Bin)
		}
	}
	for _, platform := range platforms() {
		if !seen[platform] || len(seen) != len(platforms()) {
			t.Errorf("the platforms are %v, want %v", seen, platforms())
		}
	}
}

// TestChart checks that the chart and its images have the version of the release.
func TestChart(t *testing.T) {
	content := files(t, filepath.Join(made(t), "storagebench-"+strings.TrimPrefix(version, "v")+".tgz"))
	var chart struct{ Name, Version, AppVersion string }
	if err := yaml.Unmarshal(content["storagebench/Chart.yaml"], &chart); err != nil {
		t.Fatal(err)
	}
	if chart.Name != "storagebench" || "v"+chart.Version != version || chart.AppVersion != version {
		t.Errorf("the chart is %+v", chart)
	}
	var values struct {
		Image struct {
			Registry           string
			Operator, Fio, IOR struct{ Digest string }
		}
	}
	if err := yaml.Unmarshal(content["storagebench/values.yaml"], &values); err != nil {
		t.Fatal(err)
	}
	if image := values.Image; image.Registry != registry || !strings.HasSuffix(published(t, "operator"), "@"+image.Operator.Digest) ||
		!strings.HasSuffix(published(t, "fio"), "@"+image.Fio.Digest) || image.IOR.Digest != "" {
		t.Errorf("its images are %+v", image)
	}
	for _, name := range []string{"values.yaml", "values.schema.json", "README.md", "templates/deployment.yaml", "crds/storagebench.dev_benchmarkruns.yaml"} {
		if len(content["storagebench/"+name]) == 0 {
			t.Errorf("the chart has no %s", name)
		}
	}
}

// published returns the reference of an image of the release, with its digest.
func published(t *testing.T, name string) string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(registry+"/"+name+":"+version) + `@sha256:[0-9a-f]{64}$`).Find(readFile(t, filepath.Join(made(t), "images.txt")))
	if found == nil {
		t.Fatalf("images.txt has no %s", name)
	}
	return string(found)
}

// TestInstall checks that install.yaml runs the images of the release, by their digests, and no others.
func TestInstall(t *testing.T) {
	text := readFile(t, filepath.Join(made(t), "install.yaml"))
	images := regexp.MustCompile(`(?m)^\s*(?:- )?image: (.*)$`).FindAllSubmatch(text, -1)
	if len(images) == 0 {
		t.Fatal("it runs no image")
	}
	for _, image := range images {
		if string(image[1]) != published(t, "operator") {
			t.Errorf("it runs %s", image[1])
		}
	}
	for _, want := range []string{"value: " + published(t, "operator"), "value: " + published(t, "fio")} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("its clients do not run %s", want)
		}
	}
	for _, kind := range []string{"storagebenchmarks", "benchmarkruns", "workloadprofiles", "clusterworkloadprofiles"} {
		if !bytes.Contains(text, []byte("name: "+kind+".storagebench.dev\n")) {
			t.Errorf("it has no kind %s", kind)
		}
	}
}
