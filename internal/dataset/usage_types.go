package dataset

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"
)

// OtherTypes stands for the types that are too many to be told one by one.
const OtherTypes = "*"

// maxTypes that are told.
const maxTypes = 16

// plainExtension is one that says a type: no number, which tools give their files by the thousand.
var plainExtension = regexp.MustCompile(`^[a-z0-9_-]{0,15}[a-z_-][a-z0-9_-]{0,15}$`)

// extension is the type of a file by its name; "" where the name says none.
func extension(name string) string {
	found := strings.ToLower(strings.TrimPrefix(path.Ext(strings.TrimLeft(name, ".")), "."))
	if len(found) > 16 || !plainExtension.MatchString(found) {
		return ""
	}
	return found
}

// tell lists the types, those that take most first, and puts what is over the limit together.
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
