package fio

import (
	"context"
	"strings"

	"github.com/storagebench/storagebench/images/image"
	"github.com/storagebench/storagebench/images/packaged"
)

// LabelPackage is the image label with the version of Debian's fio package.
const LabelPackage = "dev.storagebench.fio.package"

// program is the image's main program. archivers are programs that users' commands may call.
const (
	program   = "usr/bin/fio"
	archivers = "usr/bin/zip usr/bin/unzip"
)

// Packages are the packages of the image, without their dependencies.
var Packages = []string{"fio", "zip", "unzip"}

// Make resolves the packages and builds the image. It reads the layer from the cache if the packages have not changed.
func Make(ctx context.Context, o packaged.Options) (image.Image, error) {
	layer, versions, err := packaged.Layer(ctx, o,
		packaged.Recipe{Name: "fio", Packages: Packages, Programs: append(strings.Fields(archivers), program)})
	if err != nil {
		return image.Image{}, err
	}
	return image.Image{
		Name:         "fio",
		Version:      o.Version,
		Architecture: o.Architecture,
		Title:        "fio " + versions["fio"] + ", zip and unzip from Debian, for storagebench clients",
		Licenses:     "GPL-2.0-only AND Info-ZIP AND LicenseRef-usr-share-doc",
		Entrypoint:   []string{"/" + program},
		Path:         "/usr/bin",
		Labels:       map[string]string{LabelPackage: versions["fio"]},
		Layer:        layer,
		Created:      o.Created,
	}, nil
}
