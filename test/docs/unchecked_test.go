package docs_test

// unchecked lists the text blocks that are not checked, with the reason. An entry covers the block whose first line
// begins with first, or all of the page's blocks if first is empty.
var unchecked = []struct{ page, first, reason string }{
	{"docs/concepts.md", "", "drawings"},
	{"docs/soak.md", "", "what a soak has measured; make soak writes the page"},
	{"docs/reference/cli.md", "", "lines of use as cobra writes them, with [flags]; make verify keeps the page as the program is"},
	{"docs/report.md", "NAME          READY", "an example of a list; TestPrintColumns of config/crd has its columns"},
	{"docs/schedule.md", "$ kubectl get sbrun", "what a cluster with a queue answers; TestPrintColumns and the tests of the queue hold its words"},
	{"docs/space.md", "written by fio", "a part of a line of a report with data of a user's own"},
	{"docs/guides/smb.md", "PHASE     FIGURE              MEASURED", "measured by the twin of FSx for Windows; another run measures other figures"},
	{"docs/volumes.md", "waiting for 1 of 1 clients", "the words of a cluster's own event"},
}
