// Package version says which build this is, so that results and ownership files can name it.
package version

import "runtime/debug"

// Version is set by the build (make build: -ldflags -X). Without it the module's own version, or
// the revision it was built from, stands in.
var Version = fromBuild()

func fromBuild() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			return "devel-" + setting.Value
		}
	}
	return "devel"
}
