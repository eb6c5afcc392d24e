package version

import "strings"

// Registry is the first part of the names of images that were not given another one. Nobody can publish there: names
// below .invalid never resolve (RFC 6761). Such images are loaded onto nodes, or pushed under another name.
const Registry = "storagebench.invalid"

// Image returns the name of an image of storagebench in Registry: "operator", "fio" or "ior" of a version.
func Image(name, version string) string { return Registry + "/" + name + ":" + Tag(version) }

// Tag turns a version into the tag of an image. The version of a modified work tree may contain a plus sign, which a
// tag must not, so it becomes a dash.
func Tag(version string) string { return strings.ReplaceAll(version, "+", "-") }
