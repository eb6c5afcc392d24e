package fio

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/storagebench/storagebench/images/image"
	"github.com/storagebench/storagebench/images/packaged"
)

// LabelPackage is the image label that holds the version of Debian's fio package.
const LabelPackage = "dev.storagebench.fio.package"

// program is the image's main program. archivers are programs that users' commands may call.
const (
	program   = "usr/bin/fio"
	archivers = "usr/bin/zip usr/bin/unzip"
)

// Packages are the packages of the image, without their dependencies.
var Packages = []string{"fio", "zip", "unzip"}

// Options configures Make.
type Options struct {
	// Version is the version of storagebench and the tag of the image.
	Version string
	// Architecture is the GOARCH of the image; by default, this machine's.
	Architecture string
	// Locked selects the packages pinned in images/lock. Otherwise Debian's current packages are used.
	Locked bool
	// Cache is the folder for results that take long to produce.
	Cache string
	// Progress receives a message before each slow step.
	Progress io.Writer
	// Created is the timestamp of all files.
	Created time.Time
}

// Make resolves the packages and builds the image. It takes the layer from the cache if the packages have not
// changed.
func Make(ctx context.Context, o Options) (image.Image, error) {
	layer, versions, err := packaged.Layer(ctx, packaged.Options{Architecture: o.Architecture, Locked: o.Locked,
		Cache: o.Cache, Progress: o.Progress, Created: o.Created},
		packaged.Recipe{Name: "fio", Packages: Packages, Programs: append(strings.Fields(archivers), program)})
	if err != nil {
		return image.Image{}, err
	}
	return image.Image{
		Name:         "fio",
		Version:      o.Version,
		Architecture: o.Architecture,
		Title:        "fio " + versions["fio"] + ", zip and unzip of Debian, for clients of storagebench",
		Licenses:     "GPL-2.0-only AND Info-ZIP AND LicenseRef-usr-share-doc",
		Entrypoint:   []string{"/" + program},
		Path:         "/usr/bin",
		Labels:       map[string]string{LabelPackage: versions["fio"]},
		Layer:        layer,
		Created:      o.Created,
	}, nil
}
