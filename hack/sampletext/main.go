// Command sampletext prints a random sample of the product's comments or messages, for a reader who has not seen the
// code:
//
//	go run ./hack/sampletext -seed 1 -n 100 comments
//	go run ./hack/sampletext -seed 1 -n 100 messages
//
// A comment is a group of comment lines without directives. A message is a string literal of five or more words. Tests,
// generated files and the test directory are excluded. The same seed draws the same sample from the same sources.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// leastWords is the minimum number of words of a message. A shorter string literal is assumed to be a name or a key.
const leastWords = 5

// text is a comment or a message, with its position.
type text struct {
	at   token.Position
	text string
}

func main() {
	seed := flag.Uint64("seed", 1, "seed of the sample")
	count := flag.Int("n", 100, "texts to print")
	flag.Parse()
	if err := run(flag.Arg(0), *seed, *count); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(kind string, seed uint64, count int) error {
	collect, known := map[string]func(*token.FileSet, *ast.File) []text{"comments": comments, "messages": messages}[kind]
	if !known {
		return fmt.Errorf("unknown kind %q: use comments or messages", kind)
	}
	var all []text
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (path == "test" || entry.Name() == "testdata" || path != "." && strings.HasPrefix(entry.Name(), ".")):
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.ParseComments)
		if err == nil && !ast.IsGenerated(file) {
			all = append(all, collect(files, file)...)
		}
		return err
	})
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // A sample is no secret.
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	drawn := all[:min(count, len(all))]
	slices.SortFunc(drawn, func(a, b text) int {
		return cmp.Or(strings.Compare(a.at.Filename, b.at.Filename), cmp.Compare(a.at.Line, b.at.Line))
	})
	fmt.Printf("%d of %d %s, seed %d\n", len(drawn), len(all), kind, seed)
	for i, one := range drawn {
		fmt.Printf("\n%d. %s:%d\n   %s\n", i+1, one.at.Filename, one.at.Line, strings.ReplaceAll(strings.TrimSpace(one.text), "\n", "\n   "))
	}
	return nil
}

func comments(files *token.FileSet, file *ast.File) []text {
	var found []text
	for _, group := range file.Comments {
		// CommentGroup.Text removes //go: directives, but not kubebuilder markers.
		lines := slices.DeleteFunc(strings.Split(group.Text(), "\n"), func(line string) bool {
			return strings.HasPrefix(line, "+") || strings.HasPrefix(line, "#nosec") || strings.HasPrefix(line, "nolint")
		})
		if joined := strings.Join(lines, "\n"); strings.TrimSpace(joined) != "" {
			found = append(found, text{files.Position(group.Pos()), joined})
		}
	}
	return found
}

func messages(files *token.FileSet, file *ast.File) []text {
	var found []text
	ast.Inspect(file, func(node ast.Node) bool {
		literal, ok := node.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		if value, err := strconv.Unquote(literal.Value); err == nil && len(strings.Fields(value)) >= leastWords {
			found = append(found, text{files.Position(literal.Pos()), value})
		}
		return true
	})
	return found
}
