package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// mutant is a source file with one change.
type mutant struct {
	file     string
	line     int
	function string
	// The source text before (was) and after (is) the change.
	was, is string
	// nth distinguishes mutants of a function that change the same text.
	nth  int
	text []byte
}

// key identifies a mutant in equivalent.txt. It contains no line number, so that changes elsewhere in the file do
// not affect it.
func (m mutant) key() string {
	return fmt.Sprintf("%s %s %d: %s => %s", m.file, m.function, m.nth, oneLine(m.was), oneLine(m.is))
}

func (m mutant) String() string { return fmt.Sprintf("%s:%d: %s", m.file, m.line, m.key()) }

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// swaps maps operators to their replacements.
var swaps = map[token.Token]string{
	token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">", token.EQL: "!=", token.NEQ: "==",
	token.LAND: "||", token.LOR: "&&", token.ADD: "-", token.SUB: "+", token.MUL: "/", token.QUO: "*",
}

// mutator collects the mutants of a file.
type mutator struct {
	set      *token.FileSet
	file     string
	text     []byte
	function string
	found    []mutant
}

// mutantsOf returns all mutants of a file: it negates conditions, swaps operators, adds one to numbers, replaces true
// by false and false by true, and deletes statements. Some mutants do not compile. It keeps deferred calls that only
// close something, because no test can detect that an open file is left to the garbage collector.
func mutantsOf(file string, text []byte) ([]mutant, error) {
	m := &mutator{set: token.NewFileSet(), file: file, text: text}
	parsed, err := parser.ParseFile(m.set, file, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, declared := range parsed.Decls {
		m.function = "-"
		if function, is := declared.(*ast.FuncDecl); is {
			m.function = function.Name.Name
		}
		ast.Inspect(declared, m.visit)
	}
	return m.found, nil
}

func (m *mutator) visit(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.IfStmt:
		m.negate(n.Cond)
	case *ast.SwitchStmt:
		if n.Tag == nil {
			for _, one := range n.Body.List {
				for _, condition := range one.(*ast.CaseClause).List {
					m.negate(condition)
				}
			}
		}
	case *ast.BinaryExpr:
		if other, known := swaps[n.Op]; known {
			end := m.offset(n.OpPos) + len(n.Op.String())
			m.replace(m.offset(n.OpPos), end, other, m.source(n), m.source(n.X)+" "+other+" "+m.source(n.Y))
		}
	case *ast.BasicLit:
		if value, err := strconv.ParseInt(n.Value, 0, 64); n.Kind == token.INT && err == nil {
			m.change(n, strconv.FormatInt(value+1, 10))
		}
	case *ast.Ident:
		switch n.Name {
		case "true":
			m.change(n, "false")
		case "false":
			m.change(n, "true")
		}
	case *ast.ExprStmt, *ast.IncDecStmt, *ast.BranchStmt:
		m.change(n, "")
	case *ast.DeferStmt:
		if closes(n.Call) {
			return false
		}
		m.change(n, "")
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			m.change(n, "")
		}
	case *ast.ImportSpec:
		return false
	}
	return true
}

// closes reports whether a call is that of a method named Close or close, or of a function literal that only makes such
// a call.
func closes(call *ast.CallExpr) bool {
	switch called := call.Fun.(type) {
	case *ast.SelectorExpr:
		return strings.EqualFold(called.Sel.Name, "close")
	case *ast.FuncLit:
		if len(called.Body.List) != 1 {
			return false
		}
		var only ast.Expr
		switch statement := called.Body.List[0].(type) {
		case *ast.ExprStmt:
			only = statement.X
		case *ast.AssignStmt:
			only = statement.Rhs[0]
		}
		inner, is := only.(*ast.CallExpr)
		return is && closes(inner)
	}
	return false
}

func (m *mutator) negate(condition ast.Expr) { m.change(condition, "!("+m.source(condition)+")") }

func (m *mutator) offset(at token.Pos) int { return m.set.Position(at).Offset }

func (m *mutator) source(node ast.Node) string {
	return string(m.text[m.offset(node.Pos()):m.offset(node.End())])
}

func (m *mutator) change(node ast.Node, is string) {
	m.replace(m.offset(node.Pos()), m.offset(node.End()), is, m.source(node), is)
}

// replace adds a mutant in which the text `with` replaces the bytes from offset `from` to offset `to`.
func (m *mutator) replace(from, to int, with, was, is string) {
	one := mutant{
		file: m.file, line: 1 + strings.Count(string(m.text[:from]), "\n"), function: m.function, was: was, is: is,
		text: slices.Concat(m.text[:from], []byte(with), m.text[to:]),
	}
	for _, other := range m.found {
		if other.function == one.function && other.was == was && other.is == is {
			one.nth++
		}
	}
	m.found = append(m.found, one)
}
