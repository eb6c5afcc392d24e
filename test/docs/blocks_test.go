package docs_test

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBlocks checks every fenced block according to its language.
func TestBlocks(t *testing.T) {
	used, left := map[int]bool{}, 0
	all := pages(t)
	left = len(all)
	for _, page := range all {
		t.Run(page.name, func(t *testing.T) {
			left--
			scratch := newScratch(t, page.name)
			for i := range page.blocks {
				block := &page.blocks[i]
				if name := block.value("file"); name != "" {
					scratch.write(name, []byte(block.text))
				}
				entry := exempt(block)
				if entry >= 0 {
					used[entry] = true
				}
				switch {
				case entry < 0:
					checkBlock(t, scratch, block)
				case block.language == "console":
					scratch.checkCommands(t, block)
				}
			}
		})
	}
	if left > 0 {
		return // -run selected some of the pages
	}
	for i, entry := range unchecked {
		if !used[i] {
			t.Errorf("unchecked has an entry for %s, %q that is not needed: remove it", entry.page, entry.first)
		}
	}
}

// exempt returns the index of the entry in unchecked that covers a block, or -1. Only a text without a file, or a
// console that shows a cluster's answers, may be covered.
func exempt(block *block) int {
	if block.language != "text" && block.language != "console" || block.value("in") != "" {
		return -1
	}
	for i, entry := range unchecked {
		if entry.page == block.page && (entry.first == "" || strings.HasPrefix(strings.TrimSpace(block.first()), entry.first)) {
			return i
		}
	}
	return -1
}

func checkBlock(t *testing.T, scratch *scratch, block *block) {
	t.Helper()
	switch block.language {
	case "yaml":
		checkYAML(t, block)
	case "sh":
		scratch.checkShell(t, block)
	case "console":
		scratch.checkConsole(t, block)
	case "text":
		if block.word("drawing") {
			return
		}
		checkText(t, block)
	case "json":
		if !json.Valid([]byte(block.text)) {
			t.Errorf("%s: this is no JSON", block)
		}
	case "csv":
		if _, err := csv.NewReader(strings.NewReader(block.text)).ReadAll(); err != nil {
			t.Errorf("%s: %v", block, err)
		}
	case "promql":
		checkPromQL(t, block)
	case "":
		t.Errorf("%s: the block has no language: say what it is, as test/docs/doc.go describes", block)
	default:
		t.Errorf("%s: nothing checks the language %q: test/docs/doc.go has those that are", block, block.language)
	}
}

// checkText checks that the lines are in the file that the block names.
func checkText(t *testing.T, block *block) {
	t.Helper()
	name := block.value("in")
	if name == "" {
		t.Errorf("%s: nothing checks a text: name the file that it is from (in=FILE), or give a reason in test/docs/unchecked_test.go", block)
		return
	}
	file, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Errorf("%s: %v", block, err)
		return
	}
	if missing, found := inOrder(block.text, string(file), true); !found {
		t.Errorf("%s: %s does not have this line, or not in this order:\n%s", block, name, missing)
	}
}

// inOrder reports whether shown has the lines of whole in the same order, and returns the first line that differs. A
// line of ... stands for any lines; with gaps, any lines may be missing between the others.
func inOrder(shown, whole string, gaps bool) (missing string, found bool) {
	lines := strings.Split(strings.TrimRight(whole, "\n"), "\n")
	skip := gaps
	for line := range strings.SplitSeq(strings.TrimRight(shown, "\n"), "\n") {
		if strings.TrimSpace(line) == "..." {
			skip = true
			continue
		}
		at := -1
		for i := range lines {
			if same(lines[i], line) {
				at = i
				break
			}
			if !skip {
				break
			}
		}
		if at < 0 {
			return line, false
		}
		lines, skip = lines[at+1:], gaps
	}
	if len(lines) > 0 && !skip {
		return "(and then there is) " + lines[0], false
	}
	return "", true
}

// same reports whether two lines differ at most in their indentation.
func same(a, b string) bool { return strings.TrimSpace(a) == strings.TrimSpace(b) }
