package admission

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/internal/spelling"
)

// ofNames is the last part of a message about an invalid name. It is a short form of Kubernetes' rule for names.
const ofNames = "use lower-case letters, digits, dashes and dots only, beginning and ending with a letter or a digit"

// maxShownValue is the maximum number of characters that a message quotes from a wrong value.
const maxShownValue = 60

func (r *rules) toProblems(object map[string]any, faults field.ErrorList) []Problem {
	problems := make([]Problem, 0, len(faults))
	for _, fault := range faults {
		problem := r.place(object, fault)
		clearer := func(other *field.Error) bool {
			if other == fault || other.Field != fault.Field {
				return false
			}
			value, _ := lookUp(object, fault.Field)
			return isQuantityPattern(fault) || describeDecimal(fault.Field, value, other) != "" && describeDecimal(fault.Field, value, fault) == ""
		}
		if slices.ContainsFunc(faults, clearer) {
			continue // skip: another fault of the same field has a message that says what to write
		}
		if !slices.ContainsFunc(problems, func(p Problem) bool { return p == problem || isFormat(fault) && p.Path == problem.Path }) {
			problems = append(problems, problem)
		}
	}
	return withoutNameTwice(problems)
}

// withoutNameTwice drops Kubernetes' own message about a name if there is also a message from storagebench's own rule,
// because that rule is stricter and its message is shorter.
func withoutNameTwice(problems []Problem) []Problem {
	theirs := func(p Problem) bool { return p.Path == "metadata.name" && strings.HasSuffix(p.Message, ofNames) }
	if !slices.ContainsFunc(problems, func(p Problem) bool { return p.Path == "metadata.name" && !theirs(p) }) {
		return problems
	}
	return slices.DeleteFunc(problems, theirs)
}

// decimalSize returns a value as a string, and reports whether the fault is that the value is a decimal size, such as
// 64k instead of 64Ki.
func decimalSize(value any, fault *field.Error) (text string, is bool) {
	text, is = value.(string)
	return text, is && strings.Contains(fault.Detail, "decimal; did you mean") && decimal.MatchString(text)
}

// decimal matches a size with a decimal suffix.
var decimal = regexp.MustCompile(`^[0-9.]+[kMGTPE]$`)

// page is 4 KiB. A data size with a decimal suffix is accepted if it is a multiple of page.
const page = 4096

// describeDecimal returns a message that suggests a binary size in place of a decimal size, such as 64Ki for 64k. It
// returns "" for other faults.
func describeDecimal(path string, value any, fault *field.Error) string {
	text, is := decimalSize(value, fault)
	if !is {
		return ""
	}
	why := "k is 1000 and Ki is 1024"
	if strings.HasSuffix(path, "datasetSize") || isMdtestSize(path) || strings.HasSuffix(path, "ior.blockSize") {
		if size, err := resource.ParseQuantity(text); err != nil || size.Value()%page == 0 {
			return ""
		}
		why = "and not a multiple of 4096"
	}
	return fmt.Sprintf("%s is decimal, %s; did you mean %si?", text, why, strings.Replace(text, "k", "K", 1))
}

func isMdtestSize(path string) bool {
	return strings.HasSuffix(path, "fileSize") || strings.HasSuffix(path, "readSize")
}

// exceeded returns the maximum size of a field if its value is a decimal size above this maximum. It returns "" for
// other faults. Call it only if describeDecimal returns "". The size is then a multiple of page, and its only fault is
// that it is too large.
func exceeded(path string, value any, fault *field.Error) string {
	text, is := decimalSize(value, fault)
	if !is {
		return ""
	}
	most := "1Pi"
	if isMdtestSize(path) {
		most = "1Ti"
	}
	size, err := resource.ParseQuantity(text)
	if limit := resource.MustParse(most); err != nil || size.Cmp(limit) <= 0 {
		return ""
	}
	return most
}

// binarySize matches a message about a field whose values have a binary suffix.
var binarySize = regexp.MustCompile(`such as .*[0-9][KMGT]i$`)

// meantSize returns the binary size that an invalid quantity probably stands for, or "".
func meantSize(value any) string {
	text, is := value.(string)
	if !is {
		return ""
	}
	// Do not skip quantities that end in m: 8m is valid and means 8 thousandths, but the user probably meant 8Mi.
	if _, err := resource.ParseQuantity(text); err == nil && !strings.HasSuffix(text, "m") {
		return ""
	}
	return spelling.BinarySize(text)
}

// isQuantityPattern reports whether the fault is a value that does not match the pattern for quantities.
func isQuantityPattern(fault *field.Error) bool {
	return fault.Type == field.ErrorTypeInvalid && strings.Contains(fault.Detail, "[KMGTPE]i")
}

// describe returns a message about the fault of a field. It replaces the API server's own message, which repeats the
// path and, for a broken rule, shows the type of the value instead of the value.
func describe(object map[string]any, fault *field.Error) string {
	detail := strings.TrimPrefix(fault.Detail, fault.Field+" in body ")
	if isQuantityPattern(fault) {
		detail = "use a quantity such as 512, 4Ki or 8Gi"
	}
	detail = strings.Replace(detail, "should be greater than or equal to ", "must be at least ", 1)
	detail = strings.Replace(detail, "should be less than or equal to ", "must be at most ", 1)
	if strings.Contains(detail, "RFC 1123") {
		detail = ofNames
	}
	switch fault.Type { //nolint:exhaustive // the other types need no text of their own
	case field.ErrorTypeRequired:
		if detail == "name or generateName is required" {
			return "required; add it"
		}
		return cmp.Or(detail, "required; add it")
	case field.ErrorTypeNotSupported:
		if ours := fioPatterns[fmt.Sprint(fault.BadValue)]; ours != "" && strings.HasSuffix(fault.Field, ".pattern") {
			return fmt.Sprintf("%s is a value of fio's rw; use %s", show(fault.BadValue), ours)
		}
		if meant := meantValue(fault); meant != "" {
			return fmt.Sprintf("%s is not a known value; did you mean %s?", show(fault.BadValue), meant)
		}
		return fmt.Sprintf("%s is not a known value; %s", show(fault.BadValue), strings.Replace(detail, "supported values:", "use one of", 1))
	case field.ErrorTypeTooLong, field.ErrorTypeTooMany:
		return detail + "; shorten it"
	case field.ErrorTypeDuplicate:
		return "duplicate value; change or remove one"
	case field.ErrorTypeTypeInvalid:
		return describeType(object, fault, detail)
	}
	if isFormat(fault) {
		return describeType(object, fault, detail)
	}
	if strings.HasPrefix(detail, "should have at least 1 ") {
		if volumesOfTarget.MatchString(fault.Field) {
			return "is empty; specify a claim with claimName: NAME instead"
		}
		return "is empty; add an entry, or remove the field if it is optional"
	}
	value, found := lookUp(object, fault.Field)
	if needed := leastDataset(object, fault.Field); needed != "" && strings.HasPrefix(detail, "too small, each file of each job") {
		detail = strings.Replace(detail, "; raise it", "; raise it to "+needed, 1)
	}
	if shown := show(value); found && shown != "" {
		return shown + ": " + detail
	}
	return detail
}

// leastDataset returns the minimum datasetSize of a fio workload: one block for each file of each job. It returns "" if
// a value cannot be read.
func leastDataset(object map[string]any, path string) string {
	workload := strings.TrimSuffix(path, "datasetSize")
	number := func(field string) int64 {
		if value, found := lookUp(object, workload+field); found {
			count, _ := value.(int64)
			return count
		}
		return 1
	}
	block, _ := lookUp(object, workload+"blockSize")
	size, err := resource.ParseQuantity(fmt.Sprint(block))
	files := number("filesPerJob")
	if sharing, _ := lookUp(object, workload+"fileSharing"); sharing != "Shared" {
		files *= number("jobs")
	}
	if err != nil || files < 1 || size.Value() < 1 || size.Value() > math.MaxInt64/files {
		return ""
	}
	return resource.NewQuantity(size.Value()*files, resource.BinarySI).String()
}

// volumesOfTarget matches the path of a target's volumes, which are required unless the target names a claim.
var volumesOfTarget = regexp.MustCompile(`\.targets\[\d+\]\.volumes$`)

// wantedTypes maps each type of the API to the wording for it in messages.
var wantedTypes = map[string]string{
	"integer": "a whole number", "int32": "a whole number", "int64": "a whole number", "number": "a number", "boolean": "true or false",
	"array": `a list, with "- " before each entry`, "object": `a mapping, with "name: value" for each field`,
}

// wrongType extracts the required type from the API server's message. The message gives the actual type only as a Go
// type.
var wrongType = regexp.MustCompile(`must be of type (\w+)`)

// formatted extracts the path from the API server's message about a number that does not have the field's format, such
// as int32.
var formatted = regexp.MustCompile(`^Checked value must be of type \w+ with format \w+ in ([^:]+)`)

// mostInt32 is the largest value of an int32, the type of most numeric fields.
const mostInt32 = 1<<31 - 1

func isFormat(fault *field.Error) bool { return formatted.MatchString(fault.Detail) }

// describeType explains that a value has the wrong type. The most frequent cause is text that YAML reads as another
// type, such as yes or 10.
func describeType(object map[string]any, fault *field.Error, detail string) string {
	value, _ := lookUp(object, fault.Field)
	match := wrongType.FindStringSubmatch(detail)
	if match == nil {
		return withoutGoTypes(detail)
	}
	wanted, known := wantedTypes[match[1]]
	if !known {
		return notText(value)
	}
	text := "must be " + wanted
	if number, is := value.(int64); is && wanted == "a whole number" && number > mostInt32 {
		text = "too large"
	}
	if number, is := value.(string); is && wanted == "a whole number" {
		if _, err := strconv.Atoi(number); err == nil {
			text = "remove the quotes around the number"
		}
	}
	if shown := show(value); shown != "" {
		return shown + ": " + text
	}
	return text
}

// notText returns the message about a value that must be a string but is not.
func notText(value any) string {
	shown := show(value)
	if shown == "" {
		return "must be text"
	}
	return shown + ": YAML does not read this as text; put it in quotes"
}

// goType matches terms in the errors of Go's decoders that mean nothing to users who write YAML.
var goType = regexp.MustCompile(`(?i)\bgo (value|struct)|unmarshal|\b(u?int(8|16|32|64)|float64|map\[string\]|interface ?\{\})`)

// withoutGoTypes returns a general text in place of a message that mentions Go types, and returns other messages
// unchanged.
func withoutGoTypes(message string) string {
	if goType.MatchString(message) {
		return "a value has the wrong type"
	}
	return message
}

// place converts a fault to a Problem with the path of its field and a message for users. The fault of a rule that
// applies to a whole object has no path, so place takes the path from the start of the fault's message. It also removes
// the name of the field from the start of a message.
func (r *rules) place(object map[string]any, fault *field.Error) Problem {
	bare := *fault
	path := fault.Field
	if match := formatted.FindStringSubmatch(fault.Detail); match != nil {
		path, bare.Field = match[1], match[1]
	} else if path == "<nil>" || path == "" {
		path, bare.Detail, _ = strings.Cut(fault.Detail, ": ")
		bare.Field = path
	}
	if steps := parsePath(path); len(steps) > 0 {
		bare.Detail = strings.TrimPrefix(bare.Detail, steps[len(steps)-1].name+": ")
	}
	problem := Problem{Path: path, Message: describe(object, &bare), Missing: fault.Type == field.ErrorTypeRequired}
	value, _ := lookUp(object, path)
	if meant := describeDecimal(path, value, fault); meant != "" {
		problem.Message = meant
		// The datasetSize must be a multiple of the blockSize, so a wrong blockSize may be the only cause of a fault in
		// the datasetSize.
		problem.Meant[0] = strings.TrimSuffix(path, "blockSize") + "datasetSize"
	} else if most := exceeded(path, value, fault); most != "" {
		problem.Message = show(value) + ": too large; must be at most " + most
	} else if size := meantSize(value); size != "" && binarySize.MatchString(problem.Message) {
		problem.Message += "; did you mean " + size + "?"
	} else if number, unit := fmt.Sprint(value), r.unitOf(path); unit != "" && digits.MatchString(number) {
		problem.Message = show(value) + ": the unit is missing; use " + number + unit
	} else if meant := cmp.Or(meantDuration(value, problem.Message), meantRate(value, problem.Message), meantPercentile(path, value)); meant != "" {
		problem.Message += "; did you mean " + meant + "?"
	} else if schema := schemaAt(r.structural, parsePath(path)); schema != nil {
		problem.Message = withValues(schema, problem.Message)
	}
	return problem
}

// digits matches a number of up to eight digits, which may be a duration without its unit.
var digits = regexp.MustCompile(`^[0-9]{1,8}$`)

// unitOf returns the unit that is probably missing in a duration, such as "s for seconds". It returns "" if the field
// is not a duration.
func (r *rules) unitOf(path string) string {
	schema := schemaAt(r.structural, parsePath(path))
	if schema == nil {
		return ""
	}
	for _, rule := range schema.XValidations {
		if about := wrongDuration.FindStringSubmatch(rule.Message); about != nil && strings.HasPrefix(about[1], "h") {
			return "s for seconds"
		} else if about != nil {
			return "ms for milliseconds"
		}
	}
	return ""
}

// show formats a scalar for a message, with strings quoted and shortened. It returns "" for lists and objects.
func show(value any) string {
	switch value := value.(type) {
	case string:
		runes := []rune(value)
		if len(runes) > maxShownValue {
			return fmt.Sprintf("%q...", string(runes[:maxShownValue]))
		}
		return fmt.Sprintf("%q", value)
	case bool, int64, float64:
		return fmt.Sprint(value)
	case nil:
		return "null"
	}
	return ""
}

// lookUp returns the value at a path in a JSON document.
func lookUp(document any, path string) (any, bool) {
	for _, step := range parsePath(path) {
		switch inner := document.(type) {
		case map[string]any:
			value, ok := inner[step.name]
			if step.isIndex || !ok {
				return nil, false
			}
			document = value
		case []any:
			if !step.isIndex || step.index >= len(inner) {
				return nil, false
			}
			document = inner[step.index]
		default:
			return nil, false
		}
	}
	return document, true
}
