package dataset

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"
)

// OtherTypes is the extension under which the types beyond the limit are summed.
const OtherTypes = "*"

// maxTypes is the most types listed.
const maxTypes = 16

// plainExtension matches extensions that denote a type: not numbers, which tools use for thousands of files.
var plainExtension = regexp.MustCompile(`^[a-z0-9_-]{0,15}[a-z_-][a-z0-9_-]{0,15}$`)

// extension returns the file type by its name; "" if the name has none.
func extension(name string) string {
	found := strings.ToLower(strings.TrimPrefix(path.Ext(strings.TrimLeft(name, ".")), "."))
	if len(found) > 16 || !plainExtension.MatchString(found) {
		return ""
	}
	return found
}

// tell lists the types, those with the most allocated bytes first, and sums those beyond the limit.
func tell(types map[string]*Space) []TypeSpace {
	var all []TypeSpace
	for extension, space := range types {
		all = append(all, TypeSpace{Extension: extension, Space: *space})
	}
	slices.SortFunc(all, func(a, b TypeSpace) int {
		return cmp.Or(cmp.Compare(b.AllocatedBytes, a.AllocatedBytes), cmp.Compare(b.ApparentBytes, a.ApparentBytes),
			cmp.Compare(a.Extension, b.Extension))
	})
	if len(all) <= maxTypes {
		return all
	}
	rest := TypeSpace{Extension: OtherTypes}
	for _, of := range all[maxTypes-1:] {
		rest.add(of.Space)
	}
	return append(all[:maxTypes-1:maxTypes-1], rest)
}
