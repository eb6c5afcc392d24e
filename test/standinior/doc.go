// Package standinior provides tests with an ior and an mdtest to run under MPI.
//
// No registry that tests can use contains IOR or mdtest. The stand-ins are two small C programs. They are NOT IOR and
// NOT mdtest, and say so in their help and in the version that they print. They accept the options that
// internal/engine/ior writes, and refuse others as IOR does. They perform the I/O with all ranks, measure times by
// IOR's definitions, and print its rows (CSV and table) and mdtest's summary. Their help lists the options that they
// accept and ignore. For reproducible data patterns, they write the same bytes as IOR 4.0.0.
//
// If the environment sets IOR_BINARY and MDTEST_BINARY, all tests use these programs instead, and Real returns true.
// The stand-ins' own tests then compare the stand-ins with them.
//
// The stand-ins are compiled once with mpicc (Debian: libopenmpi-dev, openmpi-bin and gcc). They are kept in the user's
// cache, under a digest of the sources.
package standinior
