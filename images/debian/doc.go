// Package debian extracts programs from Debian packages: apt resolves the dependencies of a package and downloads them
// with their signatures verified, dpkg-deb unpacks them, and only the files that a program needs are kept. Nothing is
// installed on this machine, and root is not needed.
//
// Most dependencies of a program's package serve other purposes: scripts, an interpreter for them, configuration at
// installation time. None of that runs in a container, where it would only have to be kept up to date. So a program's
// shared libraries are found through its ELF headers instead.
package debian
