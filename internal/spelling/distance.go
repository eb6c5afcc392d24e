// Package spelling tells which known name somebody may have meant. It is pure.
package spelling

// Distance is Levenshtein's: how many letters have to be added, removed or changed. It takes time in the product of
// both lengths, so that a caller bounds what users write.
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
