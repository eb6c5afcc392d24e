// Package filegen implements `agent files`: it creates many files of realistic sizes, with contents that compress by a
// given percentage. They are the input for benchmarks with real programs, such as zip.
//
// The same arguments produce the same bytes on any machine, so that comparisons of storage use the same data:
//
//	sizes     the total is divided in proportion to the weights exp(1.2 z), where z is a random number
//	          with a standard normal distribution: most files are small, but some are twenty times the mean
//	contents  in each block of 4 KiB the first part is random and the rest repeats a short phrase. So
//	          any compressor with a window of a few KiB reaches the given percentage. Except at 100 %, the
//	          random part makes files and blocks differ from each other
//
// Existing files that were created with the same arguments are kept. A note beside the directory, DIRECTORY.files.json,
// records the arguments and whether all files were written. The note is written before and after the files, so the next
// call can detect that a call was interrupted, and writes the files again.
package filegen
