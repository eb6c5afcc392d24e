// Package ior builds an image with Debian's Open MPI and fio and with your own build of ior and mdtest. Client pods run
// IOR in it without ssh and without a shell.
//
// Debian has no package of IOR. Build ior and mdtest with Debian's mpicc on a Debian machine, and pass the two
// programs. The tests pass stand-ins (test/standinior), and name the image so that it cannot be mistaken for the real
// one. The Dockerfile in this directory takes IOR from openSUSE, which packages it.
//
// The paths of the directories with plugins and error texts are compiled into Open MPI. The image contains the content
// of these directories, except for the plugins for InfiniBand and similar networks, which Debian's own configuration
// disables, and the plugins for OpenSHMEM. orted and mpirun write only to /tmp.
package ior
