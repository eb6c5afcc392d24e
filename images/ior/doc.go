// Package ior builds an image with Debian's Open MPI and fio and your own ior and mdtest. Client pods run IOR in it
// without ssh and without a shell.
//
// Debian has no package of IOR. Build ior and mdtest with Debian's mpicc, on a Debian machine, and pass the two
// programs. The tests pass stand-ins (test/standinior) and choose a name for the image that shows it is not the real
// one. The Dockerfile in this folder takes IOR from openSUSE, which packages it.
//
// Open MPI looks for its plugins and its error texts in folders that are compiled in. The image contains all of
// them, except for the plugins for InfiniBand and the like, which Debian's own configuration disables, and the
// plugins for OpenSHMEM. orted and mpirun write only to /tmp.
package ior
