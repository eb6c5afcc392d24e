// Package ior makes an image of Debian's Open MPI and fio with an ior and an mdtest of one's own, that client
// pods run IOR in without ssh and without a shell.
//
// Debian has no package of IOR. Whoever has built one (with mpicc of Debian, on a machine like this) gives the
// two programs; the tests give their stand-ins (test/standinior) and name the image so that nobody takes it for
// anything else. A Dockerfile beside this takes IOR from openSUSE, which packages it.
//
// Open MPI looks for its plugins and the texts of its errors in folders that are compiled in. All of them are in
// the image, but for what serves InfiniBand and the like, which Debian's own configuration turns off, and for
// OpenSHMEM. orted and mpirun write to /tmp alone.
package ior
