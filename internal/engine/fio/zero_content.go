package fio

import (
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// zeroChunkBytes is the largest compression chunk that leaves some non-zero data in every 64 KiB. fio fills
// compressibility.percent of each chunk with zeros, for example half of each chunk at 50 percent.
const zeroChunkBytes = 16 << 10

// zeroWords identifies the options that may make fio write non-random data. Each word is a substring of an option's
// name.
var zeroWords = []string{"zero_buffers", "buffer_pattern", "buffer_compress", "dedupe", "trim", "verify"}

// MayHoldZeros reports whether fio may write 64 KiB or more of consecutive zeros. If it returns false, a run of zeros
// of this length in a file proves that the file no longer contains the data that fio wrote.
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
