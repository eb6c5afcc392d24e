package admission

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

	"github.com/storagebench/storagebench/internal/spelling"
)

// fioTerm describes the API's equivalent of a fio option.
type fioTerm struct {
	// fields are the fields that replace the option in the same object of the API. It is empty if that object has no
	// equivalent field.
	fields []string
	remedy string
}

// fioTerms maps fio options to their equivalents in the API, for users who know fio better than the API.
var fioTerms = map[string]fioTerm{
	"bs":        {[]string{"blockSize"}, "corresponds to blockSize, such as 4Ki"},
	"iodepth":   {[]string{"queueDepth"}, "corresponds to queueDepth"},
	"numjobs":   {[]string{"jobs"}, "corresponds to jobs"},
	"size":      {[]string{"datasetSize"}, "corresponds to datasetSize: the total of one client's files, such as 8Gi"},
	"filesize":  {[]string{"datasetSize"}, "corresponds to datasetSize: the total of one client's files, such as 8Gi"},
	"nrfiles":   {[]string{"filesPerJob"}, "corresponds to filesPerJob"},
	"rw":        {[]string{"pattern", "readPercent"}, "corresponds to pattern (Sequential or Random) with readPercent (100 for reads, 0 for writes)"},
	"readwrite": {[]string{"pattern", "readPercent"}, "corresponds to pattern (Sequential or Random) with readPercent (100 for reads, 0 for writes)"},
	"rwmixread": {[]string{"readPercent"}, "corresponds to readPercent"},
	"rate":      {[]string{"rateLimit"}, "corresponds to rateLimit.bytesPerSecond"},
	"rate_iops": {[]string{"rateLimit"}, "corresponds to rateLimit.iops"},
	"runtime":   {[]string{"duration"}, "corresponds to duration, such as 60s"},
	"ramp_time": {[]string{"warmUp"}, "corresponds to warmUp, such as 10s"},
	"filename":  {nil, "is set by the target: specify a claim in targets[].claimName, and remove this field"},
	"directory": {nil, "is set by the target: specify a claim in targets[].claimName, and remove this field"},

	"end_fsync":                  {[]string{"fsync"}, "corresponds to fsync: {atEnd: true}"},
	"fdatasync":                  {[]string{"fsync"}, "corresponds to fsync: {everyWrites: N, data: true}"},
	"buffer_compress_percentage": {[]string{"compressibility"}, "corresponds to compressibility.percent"},
	"buffer_compress_chunk":      {[]string{"compressibility"}, "corresponds to compressibility.chunkSize"},
}

// sameValue lists the fio options whose values are also valid for the equivalent fields of the API.
var sameValue = map[string]bool{"bs": true, "iodepth": true, "numjobs": true, "size": true, "nrfiles": true, "rwmixread": true,
	"runtime": true, "ramp_time": true}

// fioPatterns maps the values of fio's option rw to the equivalent fields of the API.
var fioPatterns = map[string]string{
	"read": "pattern: Sequential and readPercent: 100", "write": "pattern: Sequential and readPercent: 0",
	"randread": "pattern: Random and readPercent: 100", "randwrite": "pattern: Random and readPercent: 0",
	"rw":        "pattern: Sequential with readPercent, the share of reads (fio's rwmixread, by default 50)",
	"readwrite": "pattern: Sequential with readPercent, the share of reads (fio's rwmixread, by default 50)",
	"randrw":    "pattern: Random with readPercent, the share of reads (fio's rwmixread, by default 50)",
}

// elsewhere holds advice for users, keyed by the fio options that correspond to fields of a phase, not of a workload.
var elsewhere = map[string]string{
	"runtime":   "corresponds to the duration of a phase, such as steady: {duration: 60s}; move it there",
	"ramp_time": "corresponds to the warmUp of a phase, such as steady: {warmUp: 10s}; move it there",
}

// synonyms maps lower-case words that users may write to field names of the API. The first field that exists in the
// same object is suggested.
var synonyms = map[string][]string{
	"pvc": {"claimName"}, "claim": {"claimName"}, "persistentvolumeclaim": {"claimName"}, "replicas": {"count"}, "pods": {"count"},
	"values": {"steps"}, "duration": {"stepDuration", "blockDuration", "maxDuration"}, "cron": {"schedule"},
	"profile": {"profileRef"}, "promql": {"query"}, "expr": {"query"}, "expression": {"query"},
}

// advice is a remedy for an unknown field whose value cannot be moved to another field unchanged.
type advice struct {
	// place is the path of the object that contains the unknown field, without indexes, or the end of that path. name
	// matches the name of the field.
	place string
	name  *regexp.Regexp
	// write is the remedy. In it, $1 stands for the first group that name matched, and %s for the value. meant lists
	// the fields that replace the unknown field.
	write string
	meant []string
}

var advices = []advice{
	// This entry applies only if the value of schedule is an object; see advise.
	{"spec", regexp.MustCompile(`^schedule$`), `use trigger: {schedule: "%s"}`, []string{"trigger"}},
	{".latency", regexp.MustCompile(`^[pP](\d+(?:\.\d+)?)$`), `use percentile: "$1", max: %s`, []string{"percentile", "max"}},
	{"spec.objectives[]", regexp.MustCompile(`^[pP](\d+(?:\.\d+)?)$`), `use latency: {percentile: "$1", max: %s}`, []string{"latency"}},
	{".phases[]", regexp.MustCompile(`^(?:duration|runtime)$`), "set it in the kind of the phase, such as steady: {duration: %s}", []string{"steady"}},
	{".phases[]", regexp.MustCompile(`^(?:type|kind)$`), "use the kind of the phase as a field, such as steady: {duration: 60s}", []string{"steady"}},
	{".smallFiles", regexp.MustCompile(`^(?:files|fileCount|count|nrfiles)$`), "set filesPerJob in the fio workload", nil},
	{".smallFiles", regexp.MustCompile(`^(?:fileSize|filesize|size)$`), "set datasetSize in the fio workload, the total size of a client's files", nil},
	{".fio", regexp.MustCompile(`^(?:writePercent|rwmixwrite)$`), "set readPercent instead; all other operations are writes", nil},
	{".targets[]", regexp.MustCompile(`^storageClass(?:Name)?$`),
		"for new claims, use volumes: [{name: data, claimTemplate: {spec: {storageClassName: %s, ...}}}]", []string{"volumes"}},
	{".template", regexp.MustCompile(`^spec$`), "the template has no spec: move its fields one level up", nil},
}

// advise returns the advice about an unknown field of the object at the path parent, and the fields that replace the
// unknown field. It returns "" if there is no advice.
func advise(parent, name string, value any) (message string, meant []string) {
	place := indexes.ReplaceAllString(strings.TrimSuffix(parent, "."), "[]")
	for _, one := range advices {
		if !strings.HasSuffix(place, one.place) || !one.name.MatchString(name) {
			continue
		}
		if one.place == "spec" {
			if value = onlyValue(value); value == nil {
				break // a string needs no advice, because it can be moved to another field unchanged
			}
		}
		given := printable(fmt.Sprint(value))
		if show(value) == "" {
			given = "..."
		}
		return "unknown field; " + strings.ReplaceAll(one.name.ReplaceAllString(name, one.write), "%s", given), one.meant
	}
	return "", nil
}

// onlyValue returns the value of the only field of an object, such as the text of {cron: "0 3 * * *"}. It returns nil
// if the value is not an object with exactly one field.
func onlyValue(value any) any {
	if fields, is := value.(map[string]any); is && len(fields) == 1 {
		for _, only := range fields {
			return only
		}
	}
	return nil
}

// unknownField describes an unknown field with its value, and suggests a similar known one. meant lists the fields that
// the user probably meant, and move is the path to which the value can be moved unchanged.
func (r *rules) unknownField(path string, value any) (message string, meant []string, move string) {
	steps := parsePath(path)
	if len(steps) == 0 {
		return "unknown field; remove it", nil, ""
	}
	parent := path[:strings.LastIndexByte(path, '.')+1]
	last := steps[len(steps)-1].name
	known := knownFields(r.structural, steps[:len(steps)-1])
	if message, meant = advise(parent, last, value); message != "" {
		return message, meant, ""
	}
	inFio := slices.Contains(known, "ioEngine")
	if term, is := fioTerms[strings.ToLower(last)]; is {
		here := len(term.fields) > 0 && slices.Contains(known, term.fields[0])
		if ours := fioPatterns[fmt.Sprint(value)]; ours != "" && slices.Contains(term.fields, "pattern") {
			term.remedy = "corresponds to " + ours
		}
		switch {
		case here, inFio && term.fields == nil:
			if sameValue[strings.ToLower(last)] {
				move = parent + term.fields[0]
			}
			return "unknown field; fio's " + last + " " + term.remedy, term.fields, move
		case inFio && elsewhere[strings.ToLower(last)] != "":
			return "unknown field; fio's " + last + " " + elsewhere[strings.ToLower(last)], nil, ""
		}
	}
	if i := spelling.Nearest(strings.ToLower(last), lower(known), min(3, len(last))); i >= 0 {
		return fmt.Sprintf("unknown field; did you mean %s?", known[i]), known[i : i+1], parent + known[i]
	}
	for _, ours := range synonyms[strings.ToLower(last)] {
		if slices.Contains(known, ours) {
			return fmt.Sprintf("unknown field; did you mean %s?", ours), []string{ours}, parent + ours
		}
	}
	if place := cmp.Or(r.inTemplate(path, steps), withIndexes(r.placeOf(last, path), path)); place != "" {
		if !strings.Contains(place, "[]") {
			move = place
		}
		if below, inside := strings.CutPrefix(place, parent); inside {
			step, _, _ := strings.Cut(below, ".")
			meant = []string{strings.TrimSuffix(step, "[]")}
		}
		return "unknown field here; move it to " + place, meant, move
	}
	if len(known) > 0 && len(known) <= 20 {
		return fmt.Sprintf("unknown field; remove it. Known fields: %s", strings.Join(known, ", ")), nil, ""
	}
	return "unknown field; remove it", nil, ""
}

// inTemplate returns the path of the field with the same name in the pod template next to the unknown field, such as
// clients.template.resources for clients.resources. It returns "" if there is none.
func (r *rules) inTemplate(path string, steps []pathStep) string {
	last := steps[len(steps)-1].name
	template := append(slices.Clone(steps[:len(steps)-1]), pathStep{name: "template"})
	if !slices.Contains(knownFields(r.structural, template), last) {
		return ""
	}
	return strings.TrimSuffix(path, last) + "template." + last
}

// withIndexes adds indexes to a path such as spec.run.phases[].sweep.axes.jobs. It copies the indexes of all lists that
// are also in the path that the user wrote.
func withIndexes(place, written string) string {
	steps, known := strings.Split(place, "."), strings.Split(written, ".")
	for i := range min(len(steps), len(known)) {
		if steps[i] != indexes.ReplaceAllString(known[i], "[]") {
			break
		}
		steps[i] = known[i]
	}
	return strings.Join(steps, ".")
}

// placeOf returns the path of the spec field with the given name, such as spec.run.phases[].expect. If there are
// several, it returns the nearest: the one that shares the longest prefix with the path that the user wrote, and has
// the fewest further names after that prefix. It returns "" if no such field is near or if two are equally near, and
// for fields of a pod template.
func (r *rules) placeOf(name, written string) string {
	var places []string
	var search func(path string, schema *structuralschema.Structural)
	search = func(path string, schema *structuralschema.Structural) {
		if schema.Items != nil {
			search(path+"[]", schema.Items)
		}
		for _, property := range slices.Sorted(maps.Keys(schema.Properties)) {
			if property == "template" {
				continue // skip pod templates: many of their fields have the same names as other fields of the spec
			}
			if property == name {
				places = append(places, path+"."+name)
			}
			below := schema.Properties[property]
			search(path+"."+property, &below)
		}
	}
	spec, known := r.structural.Properties["spec"]
	if !known || strings.Contains(written, ".template.") {
		return ""
	}
	search("spec", &spec)
	written = indexes.ReplaceAllString(written, "[]")
	steps := strings.Split(written, ".")
	best, nearest := "", math.MinInt
	for _, place := range places {
		own, n := strings.Split(place, "."), 0
		for n < min(len(steps), len(own)) && steps[n] == own[n] {
			n++
		}
		if len(own)-n > 2 {
			continue // the field is nested too deep to be the one that the user meant
		}
		// A longer common prefix and fewer names after it make a field nearer.
		switch near := 2*n - len(own); {
		case near > nearest:
			best, nearest = place, near
		case near == nearest:
			best = "" // equally near: suggest neither field, unless a nearer one follows
		}
	}
	return best
}

// indexes matches the indexes of list items in a path.
var indexes = regexp.MustCompile(`\[\d+\]`)

// knownFields returns the names of the fields at a path, sorted.
func knownFields(schema *structuralschema.Structural, steps []pathStep) []string {
	if schema = schemaAt(schema, steps); schema == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(schema.Properties))
}

// schemaAt returns the schema of the field at a path, or nil if there is none.
func schemaAt(schema *structuralschema.Structural, steps []pathStep) *structuralschema.Structural {
	for _, step := range steps {
		if schema == nil {
			return nil
		}
		if step.isIndex {
			schema = schema.Items
			continue
		}
		property, ok := schema.Properties[step.name]
		if !ok {
			return nil
		}
		schema = &property
	}
	return schema
}

// lower returns names in lower case.
func lower(names []string) []string {
	folded := make([]string, len(names))
	for i, name := range names {
		folded[i] = strings.ToLower(name)
	}
	return folded
}
