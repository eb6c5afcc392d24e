package version

import "strings"

// Registry is the first part of image names for which no other registry was given. It cannot be published to: names
// below .invalid never resolve (RFC 6761). Such images are loaded onto nodes, or pushed under another name.
const Registry = "storagebench.invalid"

// Image returns the name, in Registry, of one of storagebench's images ("operator", "fio" or "ior") in a version.
func Image(name, version string) string { return Registry + "/" + name + ":" + Tag(version) }

// Tag turns a version into an image tag. The version of a modified work tree may contain a plus sign, which is not
// allowed in a tag and becomes a dash.
func Tag(version string) string { return strings.ReplaceAll(version, "+", "-") }
