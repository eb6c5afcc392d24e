// Package fio makes the image that client pods run fio in: Debian's fio, zip and unzip, their shared libraries
// and their licences, and nothing else. zip and unzip are for commands that pack and unpack files, as in
// config/samples/zip.yaml: they take less than a megabyte, and an image of their own would be one more to bring
// to a cluster that fetches none by itself.
//
// There is no shell in it. Nothing of ours needs one (the agent, which an init container copies in, starts
// fio with its arguments), whoever comes in from outside finds less, and less has to be kept up to date:
// the interpreters and scripts that Debian's fio depends on stay out too. For a look around in a running
// client there is `kubectl debug`, with an image of one's own choice, and `kubectl exec POD -- fio ...`.
//
// What is in it can be told without running it, see package packaged; a label has the version of fio.
package fio
