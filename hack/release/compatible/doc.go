// Package compatible says what a change of a CustomResourceDefinition would break for those who use the released one:
// files that were accepted and no longer are, stored objects that no longer fit, fields that programs read and that are
// gone. docs/api-versions.md has the promise that this holds us to.
//
// What it cannot see is a field that is there as before and means something else; and a rule in CEL that is new or
// changed is told only as something to look at, because no program knows whether it refuses more than the old one.
package compatible
