// Package standinior gives tests an ior and an mdtest to run under MPI.
//
// Neither is in any registry that tests could fetch from. So there are stand-ins: two small programs in C, in
// source, which are NOT IOR and NOT mdtest and say so in their help, in the version that they print and here.
// They take the options that internal/engine/ior writes, refuse others as IOR does, really do that I/O with all
// ranks, take the times by IOR's definitions and print its rows (CSV and table) and mdtest's summary. Options
// without effect in them are named in their help. What they write is what IOR 4.0.0 writes, byte for byte, of
// the patterns that can be told again.
//
// Where the environment has IOR_BINARY and MDTEST_BINARY those are used in their place, by all tests; Real tells.
// The stand-in's own tests then hold it against them.
//
// To compile them takes mpicc (Debian: libopenmpi-dev, openmpi-bin and gcc), once; the result stays in the user's
// cache under the digest of the sources.
package standinior
