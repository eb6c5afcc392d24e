// Package release makes a release and looks at what came out as its users would: it checks the sums, unpacks the
// archives and runs what is in them, pulls the images apart, and holds the bills of materials against the programs and
// packages themselves. It also holds the kinds against those of the last release.
//
// `make test` makes a release for this machine's architecture alone. The soak makes the whole one, twice and in two folders,
// compares the two, and runs the programs for arm64 on a simulated processor.
package release
