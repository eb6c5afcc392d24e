package plan

import (
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// zeroChunkBytes is the largest unit of compressible data, half of which is zeros at 50 percent, that leaves something else
// in every 64 KiB.
const zeroChunkBytes = 16 << 10

// zeroWords are what a job file or an option has where fio writes something else than random data.
var zeroWords = []string{"zero_buffers", "buffer_pattern", "buffer_compress", "dedupe", "trim", "verify"}

// MayHoldZeros says that 64 KiB of what a load of fio writes may be zeros throughout. Without it zeros show that a file is
// not as it was written.
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
