package admission

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	kubeyaml "sigs.k8s.io/yaml"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// Limits on the size of a file. They are far above the size of hand-written files, and prevent a hostile file from
// using up memory or time.
const (
	maxFileBytes = 4 << 20
	maxDocuments = 1000
)

// Object is one object of a file, with its defaults set. Exactly one of the pointers is not nil.
type Object struct {
	// Line is the line on which the object begins, counted from 1.
	Line int

	Benchmark      *v1alpha1.StorageBenchmark
	Profile        *v1alpha1.WorkloadProfile
	ClusterProfile *v1alpha1.ClusterWorkloadProfile

	// Written is the object as written in the file, without defaults.
	Written map[string]any

	document document
	node     *yaml.Node
	moves    []move
}

// At returns the problem as an error with the line of its field, or of the nearest enclosing field in the file.
func (o *Object) At(problem Problem) *Error {
	return o.document.place(o.node, o.Written, asWritten([]Problem{problem}, o.moves))[0]
}

// Decode reads the StorageBenchmarks, WorkloadProfiles and ClusterWorkloadProfiles of a YAML or JSON file with any
// number of documents. If there are faults, it returns all of them at once, as Errors, and no objects.
func Decode(data []byte) ([]Object, error) {
	file, faults, err := Read(data)
	switch {
	case err != nil:
		return nil, err
	case len(faults) > 0:
		return nil, faults
	case len(file.Objects) == 0:
		return nil, Errors{{Problem: Problem{Message: "the file has no storagebench object; add a StorageBenchmark"}}}
	}
	return file.Objects, nil
}

// File is the content of a file.
type File struct {
	Objects []Object
	// Foreign lists the objects of other APIs in the file, as Kind/name. They are neither checked nor used.
	Foreign []string
}

// Read is like Decode, for callers that check more than admission does. If there are faults, it also returns the
// objects that it can decode, but their values are unreliable. A file without objects is not a fault. Read returns an
// error if the rules cannot be read or if the file exceeds a limit.
func Read(data []byte) (File, Errors, error) { return read(data, false) }

// ReadLocal is like Read, but for a local run. In such a run, targets are directories and need no claim. To satisfy the
// rules, ReadLocal gives each target without a volume a claim with the target's name.
func ReadLocal(data []byte) (File, Errors, error) { return read(data, true) }

func read(data []byte, local bool) (File, Errors, error) {
	if len(data) > maxFileBytes {
		return File{}, nil, Errors{{Problem: Problem{Message: fmt.Sprintf("the file has %d bytes, but the maximum is %d; split it", len(data), maxFileBytes)}}}
	}
	documents := split(data)
	if len(documents) > maxDocuments {
		return File{}, nil, Errors{{Problem: Problem{Message: fmt.Sprintf("the file has %d documents, but the maximum is %d; split it", len(documents), maxDocuments)}}}
	}
	// context.Background is sufficient, because evaluating the rules cannot block: their cost is limited.
	ctx := context.Background()
	var file File
	var faults Errors
	for _, document := range documents {
		document.local = local
		wrong, err := document.decode(ctx, &file)
		if err != nil {
			return File{}, nil, err
		}
		faults = append(faults, wrong...)
	}
	faults = append(faults, duplicates(file.Objects)...)
	faults.Sort()
	return file, faults, nil
}

// duplicates returns a fault for each set of objects with the same kind, namespace and name. The fault has the line of
// the second of these objects.
func duplicates(objects []Object) Errors {
	named := map[string][]*Object{}
	for i := range objects {
		named[objects[i].Title()] = append(named[objects[i].Title()], &objects[i])
	}
	var faults Errors
	for title, same := range named {
		if len(same) < 2 {
			continue
		}
		message := fmt.Sprintf("the object on line %d has the same kind and name; rename one", same[0].Line)
		if len(same) > 2 {
			message = fmt.Sprintf("%d objects in the file have this kind and name, the first on line %d; rename all but one", len(same), same[0].Line)
		}
		faults = append(faults, &Error{Line: same[1].Line, Object: title, Problem: Problem{Path: "metadata.name", Message: message}})
	}
	return faults
}

// Title returns the kind, namespace and name of the object.
func (o *Object) Title() string {
	switch {
	case o.Benchmark != nil:
		return title(v1alpha1.StorageBenchmarkKind, o.Benchmark.Namespace, o.Benchmark.Name)
	case o.Profile != nil:
		return title(v1alpha1.WorkloadProfileKind, o.Profile.Namespace, o.Profile.Name)
	case o.ClusterProfile != nil:
		return title(v1alpha1.ClusterWorkloadProfileKind, "", o.ClusterProfile.Name)
	}
	return ""
}

func title(kind, namespace, name string) string {
	if namespace != "" {
		return kind + "/" + namespace + "/" + name
	}
	return kind + "/" + name
}

// document is one YAML document of a file.
type document struct {
	text []byte
	// before is the number of lines in the file before the document.
	before int
	// local is true if the document is read for a local run.
	local bool
}

// split splits a file into its documents. Each document except the first begins at a line that starts with ---.
func split(data []byte) []document {
	var documents []document
	current := document{}
	number := 0
	for line := range bytes.Lines(data) {
		if marker, rest := cutMarker(line); marker {
			documents = append(documents, current)
			current = document{before: number}
			line = rest
		}
		current.text = append(current.text, line...)
		number++
	}
	return append(documents, current)
}

// cutMarker reports whether a line begins a document, and returns the rest of the line after the marker ---.
func cutMarker(line []byte) (bool, []byte) {
	rest, found := bytes.CutPrefix(line, []byte("---"))
	if !found || (len(rest) > 0 && !bytes.ContainsAny(rest[:1], " \t\r\n")) {
		return false, nil
	}
	return true, rest
}

func (d document) fault(line int, message string) *Error {
	return &Error{Line: d.before + line, Problem: Problem{Message: message}}
}

// decode adds the objects of a document to a File: one object, all objects of a List, or none. It returns an error only
// if the rules cannot be read.
func (d document) decode(ctx context.Context, into *File) (Errors, error) {
	node, wrong := d.parse()
	if wrong != nil {
		return Errors{wrong}, nil
	}
	asJSON, err := kubeyaml.YAMLToJSONStrict(d.text)
	if err != nil {
		return Errors{d.unreadable(err)}, nil
	}
	var content any
	if err := utiljson.Unmarshal(asJSON, &content); err != nil {
		return Errors{d.unreadable(err)}, nil
	}
	if content == nil {
		return nil, nil
	}
	if node.Kind == yaml.DocumentNode && len(node.Content) == 1 {
		node = node.Content[0]
	}
	items, listed := itemsOf(content)
	if !listed {
		return d.object(ctx, node, content, into)
	}
	list, _ := childOf(node, pathStep{name: "items"})
	var faults Errors
	for i, item := range items {
		at := node
		if list != nil {
			if child, _ := childOf(dealiased(list), pathStep{index: i, isIndex: true}); child != nil {
				at = dealiased(child)
			}
		}
		wrong, err := d.object(ctx, at, item, into)
		if err != nil {
			return nil, err
		}
		faults = append(faults, wrong...)
	}
	return faults, nil
}

// nameClaims gives each target without a volume a claim with the name of the target.
func nameClaims(fields map[string]any) {
	value, _ := lookUp(fields, "spec.run.targets")
	targets, _ := value.([]any)
	for _, one := range targets {
		target, is := one.(map[string]any)
		if is && target["claimName"] == nil && target["volumes"] == nil {
			target["claimName"] = target["name"]
		}
	}
}

// itemsOf returns the objects of a List, which is the form in which kubectl get prints several objects.
func itemsOf(content any) ([]any, bool) {
	fields, _ := content.(map[string]any)
	if kind, _ := fields["kind"].(string); !strings.HasSuffix(kind, "List") {
		return nil, false
	}
	items, is := fields["items"].([]any)
	return items, is
}

// object adds the object in a YAML node to a File. If the object is of another API, it adds only the object's name.
func (d document) object(ctx context.Context, node *yaml.Node, content any, into *File) (Errors, error) {
	fields, ok := content.(map[string]any)
	if !ok {
		return Errors{d.fault(lineOf(node, ""), "not an object; add apiVersion, kind, metadata and spec")}, nil
	}
	foreign, err := foreignTitle(fields)
	if err != nil {
		return nil, err
	}
	if foreign != "" {
		into.Foreign = append(into.Foreign, foreign)
		return nil, nil
	}
	written := runtime.DeepCopyJSON(fields)
	if d.local {
		nameClaims(fields)
	}
	meant, err := checkAsMeant(ctx, fields)
	if err != nil {
		return nil, err
	}
	fields, problems := meant.fields, meant.problems
	if name, _ := lookUp(fields, "metadata.name"); len(problems) == 0 && (name == nil || name == "") {
		problems = append(problems, Problem{Path: "metadata.name", Message: "required; add it (generateName is not supported in files)"})
	}
	object, typed := newObject(fields)
	if typed != nil && (len(problems) == 0 || typed.Path == "kind") {
		problems = []Problem{*typed}
	}
	object.Line, object.Written, object.document, object.node = d.before+lineOf(node, ""), written, d, node
	object.moves = meant.moves
	if typed == nil && object.Title() != "" {
		into.Objects = append(into.Objects, *object)
	}
	return d.place(node, fields, problems), nil
}

// foreignTitle returns the kind and name of an object of another API. It returns "" for an object of storagebench. It
// also returns "" for an object that probably belongs to storagebench: one with its API group or one of its kinds, or
// one without an apiVersion or kind.
func foreignTitle(fields map[string]any) (string, error) {
	known, err := kinds()
	if err != nil {
		return "", err
	}
	apiVersion, _ := fields["apiVersion"].(string)
	kind, _ := fields["kind"].(string)
	group, _, _ := strings.Cut(apiVersion, "/")
	if _, ours := known[kind]; ours || apiVersion == "" || kind == "" || group == v1alpha1.GroupVersion.Group {
		return "", nil
	}
	name, _ := lookUp(fields, "metadata.name")
	text, _ := name.(string)
	return printable(kind) + "/" + printable(cmp.Or(text, "unnamed")), nil
}

// printable shortens the name of an object and drops characters that could control a terminal.
func printable(name string) string {
	name = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, name)
	if runes := []rune(name); len(runes) > maxShownValue {
		return string(runes[:maxShownValue]) + "..."
	}
	return name
}

// place converts the problems to errors with the line of each problem and the title of the object.
func (d document) place(node *yaml.Node, fields map[string]any, problems []Problem) Errors {
	name, _ := lookUp(fields, "metadata.name")
	text, _ := name.(string)
	kind, _ := fields["kind"].(string)
	faults := make(Errors, len(problems))
	for i, problem := range problems {
		faults[i] = &Error{Line: d.before + lineOf(node, cmp.Or(problem.written, problem.Path)), Problem: problem}
		if text != "" && kind != "" {
			faults[i].Object = title(kind, "", text)
		}
	}
	return faults
}

// parse parses a document to find the lines of its fields. It also ensures that there is only one document, because the
// decoder that kubectl uses would ignore all documents after the first.
func (d document) parse() (*yaml.Node, *Error) {
	decoder := yaml.NewDecoder(bytes.NewReader(d.text))
	first := &yaml.Node{}
	switch err := decoder.Decode(first); {
	case errors.Is(err, io.EOF):
		return nil, nil
	case err != nil:
		return nil, d.unreadable(err)
	}
	second := &yaml.Node{}
	if err := decoder.Decode(second); !errors.Is(err, io.EOF) {
		return nil, d.fault(second.Line, "a second document starts without a --- line; add one")
	}
	return first, nil
}

// newObject converts validated fields to the Go type of their kind. It returns a problem if the conversion fails, or if
// the kind is one that only storagebench creates.
func newObject(fields map[string]any) (*Object, *Problem) {
	object := &Object{}
	var into runtime.Object
	switch kind, _ := fields["kind"].(string); kind {
	case v1alpha1.StorageBenchmarkKind:
		object.Benchmark = &v1alpha1.StorageBenchmark{}
		into = object.Benchmark
	case v1alpha1.WorkloadProfileKind:
		object.Profile = &v1alpha1.WorkloadProfile{}
		into = object.Profile
	case v1alpha1.ClusterWorkloadProfileKind:
		object.ClusterProfile = &v1alpha1.ClusterWorkloadProfile{}
		into = object.ClusterProfile
	case v1alpha1.BenchmarkRunKind:
		return object, &Problem{Path: "kind", Message: "a BenchmarkRun is a record that storagebench creates; use a StorageBenchmark instead"}
	default:
		return object, nil
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, into); err != nil {
		return object, &Problem{Path: "spec", Message: withoutGoTypes(firstLine(err.Error())) + "; correct the value"}
	}
	return object, nil
}

// positioned extracts the message and its line in the document from a YAML error.
var positioned = regexp.MustCompile(`line ([0-9]+): (.*)`)

// misplaced matches the syntax errors for which the parser reports the line where the enclosing list or object begins,
// not the line of the error.
var misplaced = regexp.MustCompile(`^did not find expected (node content|'-' indicator|key|',' or '[\]}]')$`)

// keyTwice matches the error about a key that occurs twice in an object.
var keyTwice = regexp.MustCompile(`^key (".*") already set in map$`)

// grammarRemedies maps YAML syntax errors to their remedies.
var grammarRemedies = map[string]string{
	"could not find expected ':'":                    "; use name: value for each field, with a space after the colon",
	"mapping values are not allowed in this context": "; put a space after each colon, put values that contain colons in quotes, and check the indentation",
}

// unreadable returns the fault that is reported for a document that is not valid YAML.
func (d document) unreadable(err error) *Error {
	for i, line := range bytes.Split(d.text, []byte("\n")) {
		if bytes.Contains(line, []byte("{{")) {
			return d.fault(i+1, "{{ starts a template action; render the file first, for example with helm template")
		}
	}
	match := positioned.FindStringSubmatch(err.Error())
	if match == nil {
		return d.fault(1, withoutGoTypes("invalid YAML from here on: "+firstLine(err.Error())))
	}
	line, convErr := strconv.Atoi(match[1])
	if convErr != nil {
		line = 1
	}
	message := "invalid YAML from here on: " + strings.ToValidUTF8(match[2], "\uFFFD")
	if twice := keyTwice.FindStringSubmatch(match[2]); twice != nil {
		message = fmt.Sprintf("duplicate key %s; merge the two, or remove one", strings.ToValidUTF8(twice[1], "\uFFFD"))
	}
	message += grammarRemedies[match[2]]
	begun := line
	if misplaced.MatchString(match[2]) {
		line, begun = d.misplacedLine(line), line+1
	}
	for _, near := range []int{line, begun} {
		if tab := d.tab(near); tab > 0 {
			return d.fault(tab, "this line is indented with a tab; YAML allows only spaces: replace the tab with spaces")
		}
	}
	if lines := bytes.Split(d.text, []byte("\n")); line >= 1 && line <= len(lines) && bytes.Contains(lines[line-1], []byte("${")) {
		return d.fault(line, message+"; replace variables such as ${NAME} with values, for example with envsubst, or put them in quotes")
	}
	if line != begun && misplaced.MatchString(match[2]) {
		message += fmt.Sprintf("; indent this line like the other entries of the block that starts on line %d, and check the quotes before it", d.before+begun)
	}
	return d.fault(line, message)
}

// misplacedLine returns the line at which parsing failed. It uses the older parser that kubectl uses, because the newer
// parser reports the line on which the enclosing list or object begins. The older parser counts lines from 0. If the
// older parser reports no such line, misplacedLine returns its argument.
func (d document) misplacedLine(otherwise int) int {
	_, err := kubeyaml.YAMLToJSON(d.text)
	if err == nil {
		return otherwise
	}
	match := positioned.FindStringSubmatch(err.Error())
	if match == nil || !misplaced.MatchString(match[2]) {
		return otherwise
	}
	line, convErr := strconv.Atoi(match[1])
	if convErr != nil {
		return otherwise
	}
	return line + 1
}

// tab returns the number of a line that is indented with a tab, near the line where parsing failed. It returns 0 if
// there is none.
func (d document) tab(near int) int {
	lines := bytes.Split(d.text, []byte("\n"))
	for _, line := range []int{near, near + 1, near - 1} {
		if line < 1 || line > len(lines) {
			continue
		}
		text := lines[line-1]
		if indent := text[:len(text)-len(bytes.TrimLeft(text, " \t"))]; bytes.ContainsRune(indent, '\t') {
			return line
		}
	}
	return 0
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.ToValidUTF8(line, "\uFFFD")
}
