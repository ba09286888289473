package policy

import "strings"

// DidYouMean returns `; did you mean "x"?` for the word that comes nearest to
// what was written, or "" where none is near.
func DidYouMean(written string, words []string) string {
	best, near := "", 3 // three slips are another word
	for _, w := range words {
		if d := distance(strings.ToLower(written), strings.ToLower(w)); d < near && d < len(w) {
			best, near = w, d
		}
	}
	if best == "" || best == written {
		return ""
	}
	return "; did you mean " + quote(best) + "?"
}

// distance counts the slips between a and b: letters left out, put in,
// changed, and neighbours swapped (optimal string alignment). Words that
// nobody mixes up are not measured.
func distance(a, b string) int {
	const far = 64
	if len(a) > far || len(b) > far {
		return far
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			best := min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				best = min(best, rows[i-2][j-2]+1)
			}
			rows[i][j] = best
		}
	}
	return rows[len(a)][len(b)]
}
