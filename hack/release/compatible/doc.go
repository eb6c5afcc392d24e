// Package compatible finds what a change to a CustomResourceDefinition would break for users of the released version:
// files that are no longer accepted, stored objects that no longer fit, and removed fields that programs read. It
// enforces the promise in docs/api-versions.md.
//
// It cannot detect that an unchanged field now has a different meaning. New and changed CEL rules are only listed for
// review, because no program can decide whether they reject more than the old ones.
package compatible
