package operator

import (
	"bytes"
	"cmp"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/storagebench/storagebench/images/image"
	"github.com/storagebench/storagebench/images/licences"
	"github.com/storagebench/storagebench/images/packaged"
)

// Paths in the image, without a leading slash.
const (
	Program = "storagebench-operator"
	Agent   = "storagebench-agent"
	// Certificates is the path of the file with the CA certificates. Go looks for them there.
	Certificates = "etc/ssl/certs/ca-certificates.crt"
)

// Options configures Make.
type Options struct {
	// The embedded Options describe the image. Progress also receives a message if the CA certificates are omitted.
	packaged.Options
	// Programs is the directory that contains the operator and the agent, built for Architecture.
	Programs string
	// Licence is the text of the project's licence.
	Licence []byte
}

// Make builds the image from programs that are already built.
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

// machines maps the architectures for which images are built to their ELF machines.
var machines = map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}

// static reads a program. It returns an error if the program is for another architecture, or if it needs shared
// libraries, because the image contains none.
func static(file, architecture string) ([]byte, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read a program (`make build` builds it): %w", err)
	}
	program, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("%s is not a program for Linux; build it with GOOS=linux make build: %w", file, err)
	}
	if want, known := machines[architecture]; !known || program.Machine != want {
		return nil, fmt.Errorf("%s is built for %v, but the image is for %s; build it with GOARCH=%s", file, program.Machine, architecture, architecture)
	}
	for _, part := range program.Progs {
		if part.Type == elf.PT_INTERP {
			return nil, fmt.Errorf("%s needs shared libraries, and the image has none; build it with CGO_ENABLED=0, as `make build` does", file)
		}
	}
	return data, nil
}

// addCertificates adds the CA certificates of Debian's package. If apt-get is missing and Locked is not set, it adds
// none. The operator needs them only to verify a Prometheus server whose certificate is from a public CA: the CAs of
// the API server and of the agents are configured separately. The machine's own certificates are not used, because they
// may include CAs that only this machine trusts.
func addCertificates(ctx context.Context, o Options, tree *image.Tree) error {
	if _, err := exec.LookPath("apt-get"); errors.Is(err, exec.ErrNotFound) && !o.Locked {
		_, _ = fmt.Fprintln(o.Progress, "Building the operator image without public CA certificates, because apt-get is missing")
		return nil
	}
	apt, err := o.Apt()
	if err != nil {
		return err
	}
	defer apt.Close()
	return apt.Try(ctx, func() error {
		found, err := certificates(ctx, o.Options, apt)
		if err != nil {
			return fmt.Errorf("get the public CA certificates: %w", err)
		}
		return found.add(tree)
	})
}
