// Package packaged builds the file system of an image from Debian packages. The file system contains only programs and
// plugins, everything that these load, some data, and the licences of all these files.
//
// The image has no shell. None of our programs needs one, an intruder finds fewer tools, and there is less to keep up
// to date, because the interpreters and scripts that packages depend on are also omitted.
//
// The image documents its content: /var/lib/dpkg/status.d contains the control data of the packages, as image scanners
// expect, and PackagesFile lists their versions and the digests of their .deb files.
package packaged
