// Package lock holds which Debian packages released images are made of: each with its version and digest, one file for
// an image and an architecture. `make image-lock` writes them anew, of what Debian has by then.
//
// `make release` takes these and no others, so that what was released can be made again and compared. `make images`
// takes what Debian has today: whoever builds for themselves gets its security fixes without a change here.
package lock

import (
	"embed"
	"fmt"

	"github.com/storagebench/storagebench/images/debian"
)

//go:embed *.lock
var files embed.FS

// File is what the list of an image is called in this folder.
func File(image, architecture string) string { return image + "_" + architecture + ".lock" }

// Of gives the packages of an image.
func Of(image, architecture string) ([]debian.Package, error) {
	text, err := files.ReadFile(File(image, architecture))
	if err != nil {
		return nil, fmt.Errorf("no packages are fixed for the image %s of %s in images/lock: %w", image, architecture, err)
	}
	packages, err := debian.Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("read images/lock/%s (`make image-lock` writes it): %w", File(image, architecture), err)
	}
	return packages, nil
}
