package operator

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/storagebench/storagebench/images/debian"
	"github.com/storagebench/storagebench/images/image"
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
		data, err := static(filepath.Join(o.Programs, from))
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
	if err := addLicences(ctx, tree, programs...); err != nil {
		return image.Image{}, err
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
		Name:       "operator",
		Version:    o.Version,
		Title:      "storagebench operator and agent",
		Licenses:   "Apache-2.0 AND LicenseRef-licenses",
		Entrypoint: []string{"/" + Program},
		Layer:      layer,
		Created:    o.Created,
	}, nil
}

// static reads a program and refuses one that needs libraries, of which the image has none.
func static(file string) ([]byte, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read a program (`make build` builds them): %w", err)
	}
	program, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%s is no program for Linux; build it with GOOS=linux make build: %w", file, err)
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
	if _, err := exec.LookPath("apt-get"); errors.Is(err, exec.ErrNotFound) {
		_, _ = fmt.Fprintln(o.Progress, "The operator image is made without certificates of public authorities: apt-get is missing")
		return nil
	}
	apt, err := debian.NewApt(o.Cache, o.Progress)
	if err != nil {
		return err
	}
	defer apt.Close()
	return apt.Try(ctx, func() error {
		bundle, copyright, err := certificates(ctx, o.Cache, apt)
		if err != nil {
			return fmt.Errorf("get the certificates of public authorities: %w", err)
		}
		if err := tree.File(Certificates, 0o644, bundle); err != nil {
			return err
		}
		return tree.File("usr/share/doc/ca-certificates/copyright", 0o644, copyright)
	})
}
