// Package builders creates API objects and client reports for tests. A test sets only what matters to it; everything
// else has a valid default.
//
//	builders.Benchmark("x").Target("data").Clients(4).
//		Prepare("layout").
//		Steady("write", "10s").WarmUp("2s").
//		Steady("read", "10s").With(builders.Fio().Reads()).
//		Obj()
package builders
