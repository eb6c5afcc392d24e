package spelling

import (
	"regexp"
	"strings"
)

// unitOfBytes matches a number with a byte unit, as other tools write it: 8K, 64MB, 1 GiB.
var unitOfBytes = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) ?([kKmMgGtTpP])[iI]?[bB]?$`)

// BinarySize returns the Kubernetes quantity, in powers of 1024, that a number with a byte unit probably means: for
// example, 64Mi for 64MB. It returns "" for any other text.
func BinarySize(text string) string {
	match := unitOfBytes.FindStringSubmatch(text)
	if match == nil {
		return ""
	}
	return match[1] + strings.ToUpper(match[2]) + "i"
}
