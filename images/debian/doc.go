// Package debian extracts programs from Debian packages. apt resolves the dependencies of a package, downloads them and
// verifies their signatures, and dpkg-deb unpacks them. Only the files that a program needs are kept. Nothing is
// installed on this machine, and root is not needed.
//
// Most dependencies of a program's package serve other purposes, such as scripts, their interpreters and configuration
// at installation time. They do not run in a container, but would have to be kept up to date. Package debian therefore
// keeps only the shared libraries that a program's ELF headers name.
package debian
