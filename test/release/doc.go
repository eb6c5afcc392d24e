// Package release makes a release and checks the result as its users would: it verifies the checksums, unpacks the
// archives and runs their programs, takes the images apart, and compares the bills of materials with the programs and
// packages themselves. It also compares the kinds with those of the last release.
//
// `make test` makes a release for this machine's architecture only. The soak makes a complete one twice, in two
// directories, compares the two, and runs the programs for arm64 on a simulated processor.
package release
