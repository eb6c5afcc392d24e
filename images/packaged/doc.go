// Package packaged makes the file system of an image of Debian packages: programs with all that they load,
// plugins, some data, the licences of it all, and nothing else.
//
// There is no shell in it. Nothing of ours needs one, whoever comes in from outside finds less, and less has to
// be kept up to date: the interpreters and scripts that packages depend on stay out too.
//
// What is in the image can be told without running it: /var/lib/dpkg/status.d holds the packages' own
// descriptions, as image scanners expect, and PackagesFile their versions and the digests of the files they came in.
package packaged
