package dataset

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"
)

// OtherTypes is the extension that stands for all types beyond the maxTypes limit.
const OtherTypes = "*"

// maxTypes is the maximum length of Usage.Types, including OtherTypes.
const maxTypes = 16

// plainExtension matches extensions that denote a type. It excludes numbers, which tools append to thousands of
// files.
var plainExtension = regexp.MustCompile(`^[a-z0-9_-]{0,15}[a-z_-][a-z0-9_-]{0,15}$`)

// extension returns the extension of a file's name in lower case, or "" if the name has no extension that denotes a
// type.
func extension(name string) string {
	found := strings.ToLower(strings.TrimPrefix(path.Ext(strings.TrimLeft(name, ".")), "."))
	if len(found) > 16 || !plainExtension.MatchString(found) {
		return ""
	}
	return found
}

// sortedTypes lists the types by allocated bytes, largest first, and sums those beyond maxTypes as OtherTypes.
func sortedTypes(types map[string]*Space) []TypeSpace {
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
