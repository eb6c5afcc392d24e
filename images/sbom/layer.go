package sbom

import (
	"archive/tar"
	"bytes"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"regexp"

	"github.com/storagebench/storagebench/images/debian"
	"github.com/storagebench/storagebench/images/packaged"
)

var debianRelease = regexp.MustCompile(`(?m)^VERSION_ID="?([0-9.]+)"?$`)

// Layer finds the programs and packages in the layer of an image. others lists the paths, in the layer, of programs
// that are neither written in Go nor part of a package.
func Layer(layer []byte, others ...string) (Content, error) {
	content := Content{Programs: map[string][]byte{}, Others: map[string][]byte{}}
	archive := tar.NewReader(bytes.NewReader(layer))
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return Content{}, fmt.Errorf("read an image: %w", err)
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		data, err := io.ReadAll(archive)
		if err != nil {
			return Content{}, fmt.Errorf("read %s of an image: %w", header.Name, err)
		}
		switch {
		case header.Name == packaged.PackagesFile:
			if content.Packages, err = debian.Parse(string(data)); err != nil {
				return Content{}, fmt.Errorf("read the packages of an image: %w", err)
			}
		case header.Name == "usr/lib/os-release":
			if found := debianRelease.FindSubmatch(data); found != nil {
				content.Debian = string(found[1])
			}
		case header.Mode&0o111 != 0:
			if _, err := buildinfo.Read(bytes.NewReader(data)); err == nil {
				content.Programs[header.Name] = data
			}
		}
		for _, other := range others {
			if header.Name == other {
				content.Others[other] = data
			}
		}
	}
	return content, nil
}
