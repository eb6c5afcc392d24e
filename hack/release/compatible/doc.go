// Package compatible finds what a change of a CustomResourceDefinition would break for users of the released one: files
// that were accepted and no longer are, stored objects that no longer fit, and fields that programs read and that are
// gone. docs/api-versions.md documents the promise that this enforces.
//
// It cannot detect that an unchanged field now means something else. A new or changed CEL rule is only listed for
// review, because no program can decide whether it refuses more than the old one.
package compatible
