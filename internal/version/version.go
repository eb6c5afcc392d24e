// Package version says which build this is, so that results and ownership files can name it.
package version

import "runtime/debug"

// stamped is set by the build (make build: -ldflags -X); the linker cannot set a variable whose
// value is computed.
var stamped string

// Version is what the build was stamped with; without a stamp the module's own version or the
// revision it was built from.
var Version = choose(stamped)

func choose(stamp string) string {
	if stamp != "" {
		return stamp
	}
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
