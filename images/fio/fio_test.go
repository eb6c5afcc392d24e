package fio_test

import (
	"archive/tar"
	"context"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/storagebench/storagebench/images/fio"
	"github.com/storagebench/storagebench/images/image"
	"github.com/storagebench/storagebench/images/image/imagetest"
	"github.com/storagebench/storagebench/images/packaged"
)

// usual returns the image as users build it, from cached packages if possible.
var usual = sync.OnceValues(func() (image.Image, error) {
	cache, err := image.CacheFolder()
	if err != nil {
		return image.Image{}, err
	}
	return from(cache)
})

func from(cache string) (image.Image, error) {
	return fio.Make(context.Background(), packaged.Options{Version: "v1.2.3", Cache: cache, Progress: os.Stderr, Created: time.Unix(0, 0)})
}

func opened(t *testing.T) imagetest.Opened {
	t.Helper()
	made, err := usual()
	if err != nil {
		t.Fatal(err)
	}
	return imagetest.Open(t, made)
}

// TestCacheMakesNoDifference checks that fresh packages and cached packages yield the same image.
func TestCacheMakesNoDifference(t *testing.T) {
	made, err := from(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	usual, fresh := opened(t), imagetest.Open(t, made)
	if usual.ID == fresh.ID {
		return
	}
	for i := range min(len(usual.Files), len(fresh.Files)) {
		if diff := cmp.Diff(usual.Files[i], fresh.Files[i]); diff != "" {
			t.Fatalf("the image differs from one of the same packages:\n%s", diff)
		}
	}
	t.Error("the image differs from one of the same packages")
}

func TestImage(t *testing.T) {
	opened := opened(t)
	opened.CheckFiles(t)
	config := opened.Config.Config
	if config.User != "65532:65532" {
		t.Errorf("user %q", config.User)
	}
	if diff := cmp.Diff([]string{"/usr/bin/fio"}, config.Entrypoint); diff != "" {
		t.Error(diff)
	}
	var size int64
	for _, file := range opened.Files {
		size += file.Size
		for _, other := range []string{"python", "perl", "bin/sh", "bin/bash", "share/man", "share/locale", "usr/include"} {
			if strings.Contains(file.Name, other) {
				t.Errorf("%s is of no use in the image", file.Name)
			}
		}
	}
	if size > 120e6 {
		t.Errorf("the image has %d bytes: something came in that fio does not need", size)
	}
	if !strings.Contains(string(opened.Data(t, "etc/passwd")), ":65532:65532:") {
		t.Error("the user has no name")
	}
}

// TestPackagesAreNamed checks that the image lists every package with its version and digest, and contains its control
// data and licence.
func TestPackagesAreNamed(t *testing.T) {
	opened := opened(t)
	version := opened.Config.Config.Labels[fio.LabelPackage]
	if version == "" {
		t.Errorf("the label %s is empty", fio.LabelPackage)
	}
	lines := strings.Split(strings.TrimSpace(string(opened.Data(t, packaged.PackagesFile))), "\n")
	form := regexp.MustCompile(`^(\S+)=(\S+) \S+ (SHA256|SHA512):[0-9a-f]{64,128}$`)
	var names []string
	for _, line := range lines {
		parts := form.FindStringSubmatch(line)
		if parts == nil {
			t.Errorf("%q is no package with version and digest", line)
			continue
		}
		names = append(names, parts[1])
		if parts[1] == "fio" && parts[2] != version {
			t.Errorf("fio is %s in the list and %s on the label", parts[2], version)
		}
		control := string(opened.Data(t, "var/lib/dpkg/status.d/"+parts[1]))
		if !strings.Contains(control, "Package: "+parts[1]+"\n") || !strings.Contains(control, "Version: "+parts[2]+"\n") {
			t.Errorf("the description of %s does not say which version it is:\n%s", parts[1], control)
		}
		if !slices.ContainsFunc(opened.Files, func(e imagetest.Entry) bool {
			folder := "usr/share/doc/" + parts[1]
			return e.Name == folder+"/copyright" || e.Name == folder && e.Typeflag == tar.TypeSymlink
		}) {
			t.Errorf("the licence of %s is missing", parts[1])
		}
	}
	for _, file := range opened.Files {
		if of, is := strings.CutSuffix(strings.TrimPrefix(file.Name, "usr/share/doc/"), "/copyright"); is && !slices.Contains(names, of) {
			t.Errorf("package %s has a licence in the image, and is not in the list", of)
		}
	}
	for _, name := range []string{"fio", "zip", "unzip", "libaio1", "libc6", "base-files"} {
		// Later Debian releases add the suffix t64 to some names.
		if !slices.ContainsFunc(names, func(n string) bool { return strings.TrimSuffix(n, "t64") == name }) {
			t.Errorf("%s is not among the packages %v", name, names)
		}
	}
}

// TestArchiversRun runs zip and unzip with only the image as the root file system.
func TestArchiversRun(t *testing.T) {
	folder := opened(t).Unpack(t)
	if got := imagetest.Run(t, folder, "/usr/bin/zip", "-q", "/tmp/a.zip", "/etc/passwd", "-sf"); !strings.HasPrefix(got, "Total 1 entries") {
		t.Errorf("zip prints %q", got)
	}
	if got := imagetest.Run(t, folder, "/usr/bin/unzip", "-v"); !strings.HasPrefix(got, "UnZip ") {
		t.Errorf("unzip prints %q", got)
	}
}

// TestFioRuns runs fio as the image's user, with only the image as the root file system.
func TestFioRuns(t *testing.T) {
	opened := opened(t)
	folder := opened.Unpack(t)
	if got := imagetest.Run(t, folder, "/usr/bin/fio", "--version"); !strings.HasPrefix(got, "fio-") {
		t.Errorf("fio --version prints %q", got)
	}
	engines := imagetest.Run(t, folder, "/usr/bin/fio", "--enghelp")
	for _, engine := range []string{"libaio", "psync", "io_uring"} {
		if !strings.Contains(engines, "\t"+engine+"\n") {
			t.Errorf("fio has no engine %s:\n%s", engine, engines)
		}
	}
	out := imagetest.Run(t, folder, "/usr/bin/fio", "--name=try", "--ioengine=libaio", "--rw=randwrite", "--bs=4k",
		"--iodepth=4", "--size=1m", "--directory=/tmp", "--output-format=json")
	var result struct {
		Jobs []struct {
			Error int
			Write struct {
				Bytes int64 `json:"io_bytes"`
			}
		}
	}
	if err := json.Unmarshal([]byte(out[strings.Index(out, "{"):]), &result); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	if len(result.Jobs) != 1 || result.Jobs[0].Error != 0 || result.Jobs[0].Write.Bytes != 1<<20 {
		t.Errorf("fio wrote something else than a MiB:\n%s", out)
	}
}
