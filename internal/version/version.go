// Package version identifies this build, so that results and ownership files can name it.
package version

import "runtime/debug"

// stamped is set by the linker (make build: -ldflags -X). The linker cannot set Version itself, because the initial
// value of Version is computed.
var stamped string

// Version is the version that the build was stamped with. In a build without a stamp, it is the module's version if
// there is one, otherwise "devel-" and the VCS revision, or "devel" without a revision. It is "unknown" if the program
// has no build information.
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
