// Package debian takes programs out of Debian packages: apt resolves what a package depends on and fetches it
// with its signatures checked, dpkg-deb unpacks, and of all that only the files that a program needs are
// kept. Nothing is installed on this machine, and root is not needed.
//
// Most of what the packages of a program depend on is there for what it can do elsewhere: scripts, an
// interpreter for them, configuration at installation time. None of it runs in a container, where it would
// only have to be kept up to date. So a program's shared libraries are followed in its ELF headers.
package debian
