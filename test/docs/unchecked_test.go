package docs_test

// unchecked are the blocks of text that nothing checks, and why. The first line of a block begins with first; without, all
// of the page's are meant.
var unchecked = []struct{ page, first, reason string }{
	{"docs/soak.md", "", "what a soak has measured; make soak writes the page"},
	{"docs/reference/cli.md", "", "lines of use as cobra writes them, with [flags]; make verify keeps the page as the program is"},
}
