// Package spelling guesses what a user meant: the known name that is most similar to a misspelt one, and the Kubernetes
// quantity for a size that is written in the notation of other tools. Its functions have no side effects.
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

// Nearest returns the index of the known name with the smallest Distance to name. If several names have this distance,
// it returns the index of the first one. It returns -1 if every Distance is `below` or more. name may have any length,
// because Nearest skips known names whose length differs from that of name by `below` or more.
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
