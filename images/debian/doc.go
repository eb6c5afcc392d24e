// Package debian extracts programs from Debian packages. apt resolves the dependencies of a package, downloads them and
// verifies their signatures, and dpkg-deb unpacks them. Only the files that a program needs are kept. Nothing is
// installed on this machine, and root is not needed.
//
// Most dependencies of a program's package serve other purposes: scripts, an interpreter for them, configuration at
// installation time. None of this runs in a container, but it would have to be kept up to date. Therefore a program's
// shared libraries are found through its ELF headers instead.
package debian
