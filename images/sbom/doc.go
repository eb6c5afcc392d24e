// Package sbom writes a bill of materials for an image or a program, in CycloneDX JSON. It lists the Debian
// packages, and the Go modules that are linked into each program.
//
// It reads the finished image or program, not its sources, so it lists what is really in it. Two bills of the same
// content are identical byte for byte, because they contain no time and derive their serial number from the content.
package sbom
