// Package fio builds the image in which client pods run fio. It contains Debian's fio, zip and unzip, their shared
// libraries and their licences, and nothing else. zip and unzip are for commands that pack and unpack files, as in
// config/samples/zip.yaml. They take up less than a megabyte. If they had their own image, users would have to import
// one more image into a cluster that cannot pull images.
//
// The image has no shell. None of our programs needs one: an init container copies in the agent, which starts fio with
// its arguments. An intruder finds fewer tools, and there is less to keep up to date, because the interpreters and
// scripts that Debian's fio depends on are also omitted. To inspect a running client, use `kubectl debug` with an image
// of your choice, or `kubectl exec POD -- fio ...`.
//
// The image documents its content; see package packaged. A label contains the version of fio.
package fio
