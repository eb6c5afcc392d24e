package gates

import (
	"context"
	"fmt"
	"time"

	lua "github.com/yuin/gopher-lua"
)

// Health is the result of an Argo CD health script for an object.
type Health struct{ Status, Message string }

// Argo runs a health script as Argo CD does, with the base, table, string and math libraries and the object as the
// global obj, but for up to ten seconds. A status that Argo CD does not know is an error.
func Argo(ctx context.Context, script string, object map[string]any) (Health, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	state.SetContext(ctx)
	for _, library := range []struct {
		name string
		open lua.LGFunction
	}{{lua.LoadLibName, lua.OpenPackage}, {lua.BaseLibName, lua.OpenBase}, {lua.TabLibName, lua.OpenTable}, {lua.StringLibName, lua.OpenString}, {lua.MathLibName, lua.OpenMath}} {
		if err := state.CallByParam(lua.P{Fn: state.NewFunction(library.open), Protect: true}, lua.LString(library.name)); err != nil {
			return Health{}, fmt.Errorf("open the library %s: %w", library.name, err)
		}
	}
	state.SetGlobal("obj", valueOf(state, object))
	if err := state.DoString(script); err != nil {
		return Health{}, fmt.Errorf("run the health script: %w", err)
	}
	table, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		return Health{}, fmt.Errorf("the health script gives a %s", state.Get(-1).Type())
	}
	health := Health{Status: lua.LVAsString(table.RawGetString("status")), Message: lua.LVAsString(table.RawGetString("message"))}
	switch health.Status {
	case "Healthy", "Progressing", "Degraded", "Suspended", "Missing", "Unknown":
		return health, nil
	}
	return Health{}, fmt.Errorf("the health script gives the status %q", health.Status)
}

// valueOf converts a JSON value to Lua, where all numbers are floats.
func valueOf(state *lua.LState, value any) lua.LValue {
	switch v := value.(type) {
	case map[string]any:
		table := state.NewTable()
		for key, one := range v {
			table.RawSetString(key, valueOf(state, one))
		}
		return table
	case []any:
		table := state.NewTable()
		for _, one := range v {
			table.Append(valueOf(state, one))
		}
		return table
	case string:
		return lua.LString(v)
	case bool:
		return lua.LBool(v)
	case float64:
		return lua.LNumber(v)
	case int64:
		return lua.LNumber(v)
	}
	return lua.LNil
}
