package fio

import (
	"math"
	"strconv"
	"strings"
)

const (
	compressPercentage = "buffer_compress_percentage"
	// undecidedPercentage stands in a job until a client has seen the data that it is to be like.
	undecidedPercentage = "50"
	// mostCompressed is what is asked for at most: of more fio's buffers are a few bytes of noise between zeros, and
	// what comes out says more of an algorithm's headers than of data.
	mostCompressed = 98
	// leastCompressed is not 0, with which fio writes the same few buffers again and again.
	leastCompressed = 1
)

// PercentFor gives the percentage of a buffer that fio must make compressible, so that what it writes is compressed by a
// ratio, of at least 1. Tried with fio 3.33 in chunks of 4 KiB: lz4 made 1.98:1 of 50 %, 2.98:1 of 67, 4.86:1 of 80, 9.5:1 of 90 and
// 18:1 of 95, for blocks from 4 KiB to 1 MiB alike; zstd hardly more.
func PercentFor(ratio float64) int {
	if !(ratio > 1) {
		return leastCompressed
	}
	return min(max(int(math.Round(100*(1-1/ratio))), leastCompressed), mostCompressed)
}

// WithCompressPercentage gives a job in which what is written can be compressed by that percentage.
func WithCompressPercentage(job string, percent int) string {
	var b strings.Builder
	for line := range strings.Lines(job) {
		if strings.HasPrefix(line, compressPercentage+"=") {
			line = compressPercentage + "=" + strconv.Itoa(percent) + "\n"
		}
		b.WriteString(line)
	}
	return b.String()
}
