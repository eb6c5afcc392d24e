// Package builders makes objects of the API, and what clients report, for tests: a test says what
// matters to it, and everything else has a value that works.
//
//	builders.Benchmark("x").Target("data").Clients(4).
//		Prepare("layout").
//		Steady("write", "10s").WarmUp("2s").
//		Steady("read", "10s").With(builders.Fio().Reads()).
//		Obj()
package builders
