package operator

import (
	"bytes"
	"cmp"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/storagebench/storagebench/images/image"
	"github.com/storagebench/storagebench/images/licences"
	"github.com/storagebench/storagebench/images/packaged"
)

// Where the programs are in the image.
const (
	Program = "storagebench-operator"
	Agent   = "storagebench-agent"
	// Certificates are those of public authorities, where Go looks for them.
	Certificates = "etc/ssl/certs/ca-certificates.crt"
)

// Options of Make.
type Options struct {
	// Version of storagebench, the tag of the image.
	Version string
	// Architecture of the image and of the programs, as Go calls it; empty for that of this machine.
	Architecture string
	// Locked takes the packages of images/lock; else it is what Debian has today.
	Locked bool
	// Programs is the folder with the built programs: operator and agent.
	Programs string
	// Licence is the text of the project's licence.
	Licence []byte
	// Cache is the folder for what is slow to make.
	Cache string
	// Progress is told what takes long or is left out.
	Progress io.Writer
	// Created is the time of all files.
	Created time.Time
}

// Make makes the image of programs that are built already.
func Make(ctx context.Context, o Options) (image.Image, error) {
	tree := &image.Tree{}
	var programs [][]byte
	for from, to := range map[string]string{"operator": Program, "agent": Agent} {
		data, err := static(filepath.Join(o.Programs, from), cmp.Or(o.Architecture, runtime.GOARCH))
		if err != nil {
			return image.Image{}, err
		}
		if err := tree.File(to, 0o755, data); err != nil {
			return image.Image{}, err
		}
		programs = append(programs, data)
	}
	if err := tree.File("licenses/LICENSE", 0o644, o.Licence); err != nil {
		return image.Image{}, err
	}
	texts, err := licences.Of(ctx, programs...)
	if err != nil {
		return image.Image{}, err
	}
	for name, text := range texts {
		if err := tree.File("licenses/"+name, 0o644, text); err != nil {
			return image.Image{}, err
		}
	}
	if err := image.Accounts(tree); err != nil {
		return image.Image{}, err
	}
	if err := addCertificates(ctx, o, tree); err != nil {
		return image.Image{}, err
	}
	layer, err := tree.Tar(o.Created)
	if err != nil {
		return image.Image{}, err
	}
	return image.Image{
		Name:         "operator",
		Version:      o.Version,
		Architecture: o.Architecture,
		Title:        "storagebench operator and agent",
		Licenses:     "Apache-2.0 AND LicenseRef-licenses",
		Entrypoint:   []string{"/" + Program},
		Layer:        layer,
		Created:      o.Created,
	}, nil
}

// machines are those that images are made for.
var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// static reads a program and refuses one of another machine, and one that needs libraries, of which the image has none.
func static(file, architecture string) ([]byte, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read a program (`make build` builds them): %w", err)
	}
	program, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%s is no program for Linux; build it with GOOS=linux make build: %w", file, err)
	}
	if want, known := machines[architecture]; !known || program.Machine != want {
		return nil, fmt.Errorf("%s is for the machine %v, and the image for %s; build it with GOARCH=%s", file, program.Machine, architecture, architecture)
	}
	for _, part := range program.Progs {
		if part.Type == elf.PT_INTERP {
			return nil, fmt.Errorf("%s needs shared libraries, and the image has none; build it with CGO_ENABLED=0, as `make build` does", file)
		}
	}
	return data, nil
}

// addCertificates adds the public authorities of Debian's package. This version of the operator speaks only
// to the API server and to its agents, whose authorities it is given; so where there is no apt the image is
// made without. The machine's own file is not taken: it may hold authorities that are only of this machine.
func addCertificates(ctx context.Context, o Options, tree *image.Tree) error {
	if _, err := exec.LookPath("apt-get"); errors.Is(err, exec.ErrNotFound) && !o.Locked {
		_, _ = fmt.Fprintln(o.Progress, "The operator image is made without certificates of public authorities: apt-get is missing")
		return nil
	}
	of := packaged.Options{Architecture: o.Architecture, Locked: o.Locked, Cache: o.Cache, Progress: o.Progress, Created: o.Created}
	apt, err := of.Apt()
	if err != nil {
		return err
	}
	defer apt.Close()
	return apt.Try(ctx, func() error {
		found, err := certificates(ctx, of, apt)
		if err != nil {
			return fmt.Errorf("get the certificates of public authorities: %w", err)
		}
		return found.add(tree)
	})
}
