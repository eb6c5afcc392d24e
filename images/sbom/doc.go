// Package sbom writes a bill of materials of an image or a program, in CycloneDX JSON: the Debian packages, and the Go
// modules that are linked into each program.
//
// It reads the finished image or program, not its sources, so it lists what is really in it. Two bills of the same
// content are equal byte for byte: they hold no time, and their serial number is derived from their content.
package sbom
