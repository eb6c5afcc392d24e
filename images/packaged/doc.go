// Package packaged builds the file system of an image from Debian packages: programs with everything that they load,
// plugins, some data, the licences of all this, and nothing else.
//
// The image has no shell. None of our programs needs one, an intruder finds fewer tools, and there is less to keep
// up to date, because the interpreters and scripts that packages depend on are also omitted.
//
// The image documents its content: /var/lib/dpkg/status.d holds the control data of the packages, as image scanners
// expect, and PackagesFile lists their versions and the digests of their files.
package packaged
