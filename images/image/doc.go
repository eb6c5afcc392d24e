// Package image builds a container image from files, without a daemon and without root.
//
// A Tree is the root file system. It records no times and no owner but root, and is written in the order of its
// paths, so that equal files yield an equal image: digests can be compared, and an unchanged image is not loaded or
// pulled again. The layer is not compressed, because the output of a compressor depends on its version; the tool
// that pushes the image compresses it. Only released images are compressed here; see [Image.OCI].
package image
