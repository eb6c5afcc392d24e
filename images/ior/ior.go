package ior

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/storagebench/storagebench/images/image"
	"github.com/storagebench/storagebench/images/packaged"
)

// LabelPackage is the image label with the version of Debian's Open MPI package.
const LabelPackage = "dev.storagebench.openmpi.package"

// programs lists the programs that come from packages. It includes fio, so that a single image can run a benchmark
// that uses both.
var programs = []string{"usr/bin/orterun", "usr/bin/orted", "usr/bin/ompi_info", "usr/bin/fio"}

// Packages are the packages of the image, without their dependencies.
var Packages = []string{"openmpi-bin", "fio"}

// Options configures Make.
type Options struct {
	packaged.Options
	// Name is the name of the image, such as "ior". Title describes the image in one line.
	Name, Title string
	// Licenses is the SPDX expression for the licences of ior and mdtest.
	Licenses string
	// IOR and Mdtest are the contents of the files ior and mdtest, built for Architecture.
	IOR, Mdtest []byte
}

// Make resolves the packages and builds the image. It reads the layer from the cache if nothing has changed. If the
// programs load a library that none of the packages contains, the error names the library.
func Make(ctx context.Context, o Options) (image.Image, error) {
	if len(o.IOR) == 0 || len(o.Mdtest) == 0 {
		return image.Image{}, fmt.Errorf("make the %s image: both the ior and the mdtest program are required", o.Name)
	}
	layer, versions, err := packaged.Layer(ctx, o.Options, packaged.Recipe{
		Name: o.Name, Layout: "1", Packages: Packages, Programs: programs, Plugins: isPlugin, Data: isData,
		Own: map[string][]byte{"usr/bin/ior": o.IOR, "usr/bin/mdtest": o.Mdtest},
		// The package does not contain the link mpirun: Debian's installation scripts create it.
		Links: map[string]string{"usr/bin/mpirun": "orterun"},
	})
	if err != nil {
		return image.Image{}, err
	}
	licenses := slices.Sorted(maps.Keys(map[string]bool{o.Licenses: true, "GPL-2.0-only": true, "BSD-3-Clause": true, "LicenseRef-usr-share-doc": true}))
	return image.Image{
		Name:         o.Name,
		Version:      o.Version,
		Architecture: o.Architecture,
		Title:        o.Title,
		Licenses:     strings.Join(licenses, " AND "),
		Entrypoint:   []string{"/usr/bin/ior"},
		Path:         "/usr/bin",
		Labels:       map[string]string{LabelPackage: versions["openmpi-bin"]},
		Layer:        layer,
		Created:      o.Created,
	}, nil
}

// left lists substrings of file names. The image omits the plugins whose names contain one of them: plugins for
// networks other than TCP and shared memory, and OpenSHMEM's plugins.
var left = []string{"_ucx.", "_ofi.", "_openib.", "_psm.", "_psm2.", "mca_scoll_", "mca_spml_", "mca_sshmem_", "mca_memheap_", "mca_atomic_"}

// isPlugin reports whether a file is a plugin of Open MPI or PMIx, such as
// usr/lib/TRIPLET/openmpi/lib/openmpi3/mca_btl_tcp.so or usr/lib/TRIPLET/pmix2/lib/pmix/pmix_mca_prm_default.so.
func isPlugin(name string) bool {
	base := path.Base(name)
	if !strings.HasPrefix(name, "usr/lib/") || !strings.HasSuffix(base, ".so") || !strings.Contains(base, "mca_") {
		return false
	}
	return !slices.ContainsFunc(left, func(part string) bool { return strings.Contains(base, part) })
}

// isData reports whether a file contains configuration or error texts of Open MPI or PMIx.
func isData(name string) bool {
	return strings.HasPrefix(name, "etc/openmpi/") || strings.HasPrefix(name, "usr/share/openmpi/help-") || strings.HasPrefix(name, "usr/share/pmix/") ||
		strings.HasPrefix(name, "usr/lib/") && strings.Contains(name, "/pmix2/share/pmix")
}
