// Package filegen is `agent files`: it makes many files of sizes as people have them, with contents that
// compress by a given share. It is what a test with a real program, such as zip, reads.
//
// The same arguments make the same bytes, anywhere, so that two stores are compared by the same data:
//
//	sizes     the total is divided by weights exp(1.2 z), z normal: most files are small, some are
//	          twenty times the mean
//	contents  in each block of 4 KiB the first part is random and the rest repeats a short phrase. So
//	          any compressor with a window of some KiB finds what is asked for, and no file is the
//	          same as another, nor any two blocks
//
// Files that are there, made with the same arguments, are kept. A note beside the directory says with
// which ones: DIRECTORY.files.json. It is written before and after the files, so that a run that was
// killed in the middle is known, and done again.
package filegen
