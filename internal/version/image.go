package version

import "strings"

// Registry is the default registry in image names. Nothing can be pushed to it, because names below .invalid never
// resolve (RFC 6761): such images are loaded onto nodes, or pushed under another name.
const Registry = "storagebench.invalid"

// Image returns the reference of an image of storagebench ("operator", "fio" or "ior") in Registry, with a version as
// its tag.
func Image(name, version string) string { return Registry + "/" + name + ":" + Tag(version) }

// Tag turns a version into an image tag. The version of a modified work tree may contain a plus sign, which is not
// allowed in a tag and becomes a dash.
func Tag(version string) string { return strings.ReplaceAll(version, "+", "-") }
