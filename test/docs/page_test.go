package docs_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

const root = "../.."

type page struct {
	// name is the path from the root of the repository.
	name    string
	source  []byte
	blocks  []block
	links   []link
	codes   []code
	anchors map[string]bool
}

type block struct {
	page string
	line int
	// language is the first word of the info string; words are the others.
	language string
	words    []string
	text     string
}

// link is the target of a link.
type link struct {
	target string
	line   int
}

type code struct {
	text string
	line int
}

func (b *block) String() string { return fmt.Sprintf("%s:%d", b.page, b.line) }

func (b *block) word(word string) bool { return slices.Contains(b.words, word) }

// value returns VALUE of a word KEY=VALUE in the info string, or "".
func (b *block) value(key string) string {
	for _, word := range b.words {
		if value, is := strings.CutPrefix(word, key+"="); is {
			return value
		}
	}
	return ""
}

// first returns the first line of the block.
func (b *block) first() string {
	line, _, _ := strings.Cut(b.text, "\n")
	return line
}

// pages returns all pages that are checked.
func pages(t *testing.T) []*page {
	t.Helper()
	names := []string{"README.md", "CONTRIBUTING.md"}
	for _, folder := range []string{"docs", "config", "charts"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
			name, _ := filepath.Rel(root, path)
			switch {
			case err != nil:
				return err
			case entry.IsDir() && name == "docs/design":
				return fs.SkipDir
			case filepath.Ext(name) == ".md":
				names = append(names, name)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(names) < 20 {
		t.Fatalf("only %d pages are found: %v", len(names), names)
	}
	var all []*page
	for _, name := range names {
		all = append(all, read(t, name))
	}
	return all
}

func read(t *testing.T, name string) *page {
	t.Helper()
	source, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	made := &page{name: name, source: source, anchors: map[string]bool{}}
	document := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(source))
	err = ast.Walk(document, func(node ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch node := node.(type) {
		case *ast.FencedCodeBlock:
			made.blocks = append(made.blocks, made.block(node))
		case *ast.CodeBlock:
			if strings.HasPrefix(name, "docs/reference/") {
				break // generated from Go comments, which have no fences
			}
			t.Errorf("%s:%d: a block by indentation has no language: fence it", name, made.line(node))
		case *ast.Heading:
			made.anchor(content(node, source))
		case *ast.Link:
			made.links = append(made.links, link{target: string(node.Destination), line: made.line(node)})
		case *ast.Image:
			made.links = append(made.links, link{target: string(node.Destination), line: made.line(node)})
		case *ast.CodeSpan:
			made.codes = append(made.codes, code{text: strings.ReplaceAll(content(node, source), "\n", " "), line: made.line(node)})
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, match := range regexp.MustCompile(`<a (?:id|name)="([^"]+)"`).FindAllSubmatch(source, -1) {
		made.anchors[string(match[1])] = true
	}
	return made
}

func (p *page) block(node *ast.FencedCodeBlock) block {
	found := block{page: p.name, line: p.line(node)}
	if node.Info != nil {
		if words := strings.Fields(string(node.Info.Value(p.source))); len(words) > 0 {
			found.language, found.words = words[0], words[1:]
		}
		found.line = p.lineAt(node.Info.Segment.Start)
	}
	var lines bytes.Buffer
	for i := range node.Lines().Len() {
		segment := node.Lines().At(i)
		lines.Write(segment.Value(p.source))
	}
	found.text = lines.String()
	return found
}

// line returns the line of a node, or of the closest node around it that has one.
func (p *page) line(node ast.Node) int {
	for ; node != nil; node = node.Parent() {
		if node.Type() == ast.TypeBlock && node.Lines() != nil && node.Lines().Len() > 0 {
			return p.lineAt(node.Lines().At(0).Start)
		}
	}
	return 1
}

func (p *page) lineAt(offset int) int { return 1 + bytes.Count(p.source[:offset], []byte("\n")) }

// anchor adds the anchor that GitHub gives a heading.
func (p *page) anchor(heading string) {
	slug := regexp.MustCompile(`[^\p{L}\p{N}\p{M}_\- ]`).ReplaceAllString(strings.ToLower(heading), "")
	slug = strings.ReplaceAll(slug, " ", "-")
	name := slug
	for i := 1; p.anchors[name]; i++ {
		name = fmt.Sprintf("%s-%d", slug, i)
	}
	p.anchors[name] = true
}

// content returns the text of a node without its markup.
func content(node ast.Node, source []byte) string {
	var b strings.Builder
	for child := node.FirstChild(); child != nil; child = child.NextSibling() {
		switch child := child.(type) {
		case *ast.Text:
			b.Write(child.Segment.Value(source))
			if child.SoftLineBreak() {
				b.WriteByte('\n')
			}
		case *ast.String:
			b.Write(child.Value)
		default:
			b.WriteString(content(child, source))
		}
	}
	return b.String()
}
