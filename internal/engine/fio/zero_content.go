package fio

import (
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// zeroChunkBytes is the largest compression chunk that leaves some non-zero data in every 64 KiB. fio fills
// compressibility.percent of each chunk with zeros: at 50 percent, half of each chunk.
const zeroChunkBytes = 16 << 10

// zeroWords are substrings of the names of options that may make fio write data that is not random.
var zeroWords = []string{"zero_buffers", "buffer_pattern", "buffer_compress", "dedupe", "trim", "verify"}

// MayHoldZeros reports whether fio may write a stretch of 64 KiB that is all zeros. If not, 64 KiB of zeros in a
// file prove that the file no longer contains what fio wrote.
func MayHoldZeros(profile *v1alpha1.FioProfile) bool {
	text := profile.JobFile
	for name := range profile.Options {
		text += " " + string(name)
	}
	for _, word := range zeroWords {
		if strings.Contains(text, word) {
			return true
		}
	}
	c := profile.Compressibility
	return profile.CompressLike != "" || c != nil && (c.Percent > 90 || c.ChunkSize != nil && c.ChunkSize.Value() > zeroChunkBytes)
}
