// Package ior builds an image of Debian's Open MPI and fio with your own ior and mdtest, in which client pods run IOR
// without ssh and without a shell.
//
// Debian has no package of IOR. Build ior and mdtest with Debian's mpicc, on a machine like this, and pass the two
// programs. The tests pass their stand-ins (test/standinior) and name the image so that it is not mistaken for the real
// one. The Dockerfile in this folder takes IOR from openSUSE, which packages it.
//
// Open MPI looks for its plugins and its error texts in folders that are compiled in. The image contains all of them,
// except for the plugins for InfiniBand and the like, which Debian's own configuration disables, and those of
// OpenSHMEM. orted and mpirun write only to /tmp.
package ior
