// Package lock pins the Debian packages of released images, with versions and digests, in one file per image and
// architecture. `make image-lock` updates the files to Debian's current packages.
//
// `make release` uses exactly these packages, so that a release can be rebuilt and compared. `make images` uses
// Debian's current packages, so that users who build images themselves get security fixes without a change here.
package lock

import (
	"embed"
	"fmt"

	"github.com/storagebench/storagebench/images/debian"
)

//go:embed *.lock
var files embed.FS

// File returns the file name of an image's package list in this directory.
func File(image, architecture string) string { return image + "_" + architecture + ".lock" }

// Of returns the packages of an image.
func Of(image, architecture string) ([]debian.Package, error) {
	text, err := files.ReadFile(File(image, architecture))
	if err != nil {
		return nil, fmt.Errorf("images/lock pins no packages for image %s on %s: %w", image, architecture, err)
	}
	packages, err := debian.Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("read images/lock/%s (`make image-lock` writes it): %w", File(image, architecture), err)
	}
	return packages, nil
}
