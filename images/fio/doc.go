// Package fio makes the image that client pods run fio in: Debian's fio, its shared libraries and their
// licences, and nothing else.
//
// There is no shell in it. Nothing of ours needs one (the agent, which an init container copies in, starts
// fio with its arguments), whoever comes in from outside finds less, and less has to be kept up to date:
// the interpreters and scripts that Debian's fio depends on stay out too. For a look around in a running
// client there is `kubectl debug`, with an image of one's own choice, and `kubectl exec POD -- fio ...`.
//
// What is in the image can be told without running it: /var/lib/dpkg/status.d holds the packages' own
// descriptions, as image scanners expect, /usr/share/storagebench/packages their versions and the digests
// of the files they came in, and a label the version of fio.
package fio
