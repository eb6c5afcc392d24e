// Package spelling finds what a user probably meant by a text: the known name that is most similar to another name, and
// the quantity of a size in bytes. It is pure.
package spelling

// Distance returns the Levenshtein distance of a and b: the minimum number of bytes to insert, delete or replace to
// turn one into the other. Its time is proportional to the product of both lengths, so callers must bound the length
// of user input.
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for i := range row {
		row[i] = i
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			changed := before
			if a[i] != b[j] {
				changed++
			}
			before = row[j+1]
			row[j+1] = min(changed, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// Nearest returns the index of the known name with the least distance to name, the first of several; -1 if none is
// nearer than below. Names that differ that much in length alone are not compared, so name may be of any length.
func Nearest(name string, known []string, below int) int {
	best := -1
	for i, candidate := range known {
		if longer := len(name) - len(candidate); longer >= below || -longer >= below {
			continue
		}
		if d := Distance(name, candidate); d < below {
			best, below = i, d
		}
	}
	return best
}
