package main

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/storagebench/storagebench/images/image"
	"github.com/storagebench/storagebench/images/licences"
	"github.com/storagebench/storagebench/images/sbom"
)

// commandLine is the program that users install on their own machines.
const commandLine = "kubectl-storagebench"

func (r release) archiveOf(p platform) string {
	return commandLine + "_" + r.version + "_" + p.os + "_" + p.arch + ".tar.gz"
}

// archives packs the command-line tool for each platform, with its own licence and the licences of everything that is
// linked into it.
func (r release) archives(ctx context.Context) error {
	for _, p := range r.platforms {
		built, err := r.program(ctx, p, commandLine)
		if err != nil {
			return err
		}
		program, err := os.ReadFile(built)
		if err != nil {
			return fmt.Errorf("read a program: %w", err)
		}
		files := map[string][]byte{}
		for name, from := range map[string]string{"LICENSE": "LICENSE", "cli.md": "docs/cli.md"} {
			if files[name], err = os.ReadFile(from); err != nil {
				return fmt.Errorf("read a file for the command-line archive: %w", err)
			}
		}
		texts, err := licences.Of(ctx, program)
		if err != nil {
			return err
		}
		for name, text := range texts {
			files["licenses/"+name] = text
		}
		name := r.archiveOf(p)
		if err := pack(r.file(name), files, map[string][]byte{commandLine: program}); err != nil {
			return err
		}
		if err := r.bill(name, sbom.Subject{Name: commandLine, PackageURL: "pkg:github/storagebench/storagebench@" + r.version + "#" + name},
			sbom.Content{Programs: map[string][]byte{commandLine: program}}); err != nil {
			return err
		}
	}
	return nil
}

// pack writes files and programs to an archive. The same names and contents always yield the same archive.
func pack(name string, files, programs map[string][]byte) error {
	return image.Replace(name, func(w io.Writer) error {
		compressed, err := gzip.NewWriterLevel(w, gzip.BestCompression)
		if err != nil {
			return err
		}
		archive := tar.NewWriter(compressed)
		add := func(mode int64, all map[string][]byte) error {
			for _, file := range slices.Sorted(maps.Keys(all)) {
				header := &tar.Header{Name: file, Mode: mode, Size: int64(len(all[file])), ModTime: time.Unix(0, 0), Format: tar.FormatPAX}
				if err := archive.WriteHeader(header); err != nil {
					return err
				}
				if _, err := archive.Write(all[file]); err != nil {
					return err
				}
			}
			return nil
		}
		if err := add(0o755, programs); err != nil {
			return err
		}
		if err := add(0o644, files); err != nil {
			return err
		}
		if err := archive.Close(); err != nil {
			return err
		}
		return compressed.Close()
	})
}

// bill writes a bill of materials for a file of the release, in the same directory and with the suffix .cdx.json.
func (r release) bill(name string, subject sbom.Subject, content sbom.Content) error {
	subject.Version = r.version
	if subject.SHA256 == "" {
		sum, err := sumOf(r.file(name))
		if err != nil {
			return err
		}
		subject.SHA256 = sum
	}
	return image.Replace(r.file(name+".cdx.json"), func(w io.Writer) error { return sbom.Write(w, subject, content) })
}

func sumOf(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read a file of the release: %w", err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(data)), nil
}
