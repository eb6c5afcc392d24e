// Package sbom writes what an image or a program is made of, as a bill of materials in CycloneDX's JSON: the Debian
// packages, and the Go modules that are linked into each program.
//
// It reads the finished image or program and not what made it, so it says what is there. Two bills of the same
// content are equal byte by byte: they hold no time, and their number is made of what is in them.
package sbom
