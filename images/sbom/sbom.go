package sbom

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/google/uuid"

	"github.com/storagebench/storagebench/images/debian"
)

// Subject is the object that a bill describes.
type Subject struct {
	// Name and Version identify the subject, such as registry.example/fio and v1.2.3.
	Name, Version string
	// Image is true for a container image; otherwise the subject is an archive of programs.
	Image bool
	// SHA256 is the checksum of the image's manifest or of the archive, in hexadecimal.
	SHA256 string
	// PackageURL is the package URL of the subject; see https://github.com/package-url/purl-spec.
	PackageURL string
}

// Content lists the programs and packages that a subject contains.
type Content struct {
	// Programs holds the Go programs by path.
	Programs map[string][]byte
	// Others holds, by path, the programs that are neither written in Go nor part of a package.
	Others map[string][]byte
	// Packages are the Debian packages. Debian is the version of Debian that they come from, or "" if it is unknown.
	Packages []debian.Package
	Debian   string
}

// Write writes the bill of a subject with the given content.
func Write(w io.Writer, subject Subject, content Content) error {
	parts := &parts{components: map[string]cyclonedx.Component{}, needs: map[string][]string{}}
	root := subject.component()
	for _, p := range content.Packages {
		parts.add(root.BOMRef, packageOf(p, content.Debian))
	}
	for _, name := range slices.Sorted(maps.Keys(content.Programs)) {
		if err := parts.program(root.BOMRef, subject.Version, name, content.Programs[name]); err != nil {
			return err
		}
	}
	for name, data := range content.Others {
		parts.add(root.BOMRef, cyclonedx.Component{BOMRef: "file:" + name, Type: cyclonedx.ComponentTypeFile, Name: name, Hashes: hashes(data)})
	}
	bill := cyclonedx.NewBOM()
	bill.Metadata = &cyclonedx.Metadata{Component: &root}
	bill.Components, bill.Dependencies = parts.lists()
	text, err := encode(bill)
	if err != nil {
		return err
	}
	bill.SerialNumber = "urn:uuid:" + uuid.NewSHA1(uuid.NameSpaceURL, text).String()
	if text, err = encode(bill); err != nil {
		return err
	}
	_, err = w.Write(text)
	return err
}

// encode formats a bill as CycloneDX 1.6, a version that current tools can read.
func encode(bill *cyclonedx.BOM) ([]byte, error) {
	var text bytes.Buffer
	if err := cyclonedx.NewBOMEncoder(&text, cyclonedx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bill, cyclonedx.SpecVersion1_6); err != nil {
		return nil, fmt.Errorf("write a bill of materials: %w", err)
	}
	return text.Bytes(), nil
}

func (s Subject) component() cyclonedx.Component {
	kind := cyclonedx.ComponentTypeApplication
	if s.Image {
		kind = cyclonedx.ComponentTypeContainer
	}
	return cyclonedx.Component{BOMRef: s.PackageURL, Type: kind, Name: s.Name, Version: s.Version, PackageURL: s.PackageURL,
		Hashes: &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: s.SHA256}}}
}

// parts holds the components of a bill and their dependencies.
type parts struct {
	components map[string]cyclonedx.Component
	needs      map[string][]string
}

func (p *parts) add(neededBy string, component cyclonedx.Component) {
	p.components[component.BOMRef] = component
	p.needs[neededBy] = append(p.needs[neededBy], component.BOMRef)
}

// program adds a Go program with all its modules, as the linker recorded them in the program.
func (p *parts) program(neededBy, version, name string, data []byte) error {
	info, err := buildinfo.Read(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("read the modules of %s: %w", name, err)
	}
	self := cyclonedx.Component{BOMRef: "program:" + name, Type: cyclonedx.ComponentTypeApplication, Name: name, Version: version,
		PackageURL: golang(info.Main.Path, version), Hashes: hashes(data)}
	p.add(neededBy, self)
	goes := strings.TrimPrefix(info.GoVersion, "go")
	p.add(self.BOMRef, library("stdlib", goes, golang("stdlib", goes)))
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		part := library(module.Path, module.Version, golang(module.Path, module.Version))
		if module.Sum != "" {
			part.Properties = &[]cyclonedx.Property{{Name: "storagebench:go.sum", Value: module.Sum}}
		}
		p.add(self.BOMRef, part)
	}
	return nil
}

func (p *parts) lists() (*[]cyclonedx.Component, *[]cyclonedx.Dependency) {
	components := slices.SortedFunc(maps.Values(p.components), func(a, b cyclonedx.Component) int { return cmp.Compare(a.BOMRef, b.BOMRef) })
	var dependencies []cyclonedx.Dependency
	for _, name := range slices.Sorted(maps.Keys(p.needs)) {
		slices.Sort(p.needs[name])
		needed := slices.Compact(p.needs[name])
		dependencies = append(dependencies, cyclonedx.Dependency{Ref: name, Dependencies: &needed})
	}
	return &components, &dependencies
}

func library(name, version, packageURL string) cyclonedx.Component {
	return cyclonedx.Component{BOMRef: packageURL, Type: cyclonedx.ComponentTypeLibrary, Name: name, Version: version, PackageURL: packageURL}
}

func golang(module, version string) string {
	return "pkg:golang/" + module + "@" + url.QueryEscape(version)
}

func packageOf(p debian.Package, release string) cyclonedx.Component {
	name := "pkg:deb/debian/" + url.QueryEscape(p.Name) + "@" + url.QueryEscape(p.Version) + "?arch=" + p.Architecture
	if release != "" {
		name += "&distro=debian-" + release
	}
	part := library(p.Name, p.Version, name)
	part.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: strings.TrimPrefix(p.Digest, "SHA256:")}}
	return part
}

func hashes(data []byte) *[]cyclonedx.Hash {
	return &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: fmt.Sprintf("%x", sha256.Sum256(data))}}
}
