// Package image builds a container image from files, without a daemon and without root.
//
// A Tree is the root file system. All its entries have the same time, belong to root, and are written in path order, so
// that the same files always yield the same bytes: digests can be compared, and an unchanged image is not loaded or
// pulled again.
//
// The layer is not compressed, because the output of a compressor depends on its version; the tool that pushes the
// image compresses it. Only [Image.OCI], for releases and for hack/push, compresses the layer here.
package image
