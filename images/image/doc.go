// Package image composes a container image from files, without a daemon and without root.
//
// A Tree is the root file system. It holds no times and no owners but root, and is written in the order
// of its paths, so that equal files make an equal image: digests can be compared and nothing is loaded or
// pulled again that did not change. The layer is not compressed, because the output of a compressor changes
// with its version; whatever pushes the image compresses it.
package image
