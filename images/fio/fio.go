package fio

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/storagebench/storagebench/images/image"
	"github.com/storagebench/storagebench/images/packaged"
)

// LabelPackage is the label with the version of Debian's package of fio.
const LabelPackage = "dev.storagebench.fio.package"

// program is the one that the image is for; archivers are those that commands of users may call.
const (
	program   = "usr/bin/fio"
	archivers = "usr/bin/zip usr/bin/unzip"
)

// Packages that the image is made of, beside what they depend on.
var Packages = []string{"fio", "zip", "unzip"}

// Options of Make.
type Options struct {
	// Version of storagebench, the tag of the image.
	Version string
	// Architecture of the image, as Go calls it; empty for that of this machine.
	Architecture string
	// Locked takes the packages of images/lock; else it is what Debian has today.
	Locked bool
	// Cache is the folder for what is slow to make.
	Cache string
	// Progress is told what takes long.
	Progress io.Writer
	// Created is the time of all files.
	Created time.Time
}

// Make resolves the packages and makes the image, from the cache when the packages are the same as before.
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
