package admission

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/storagebench/storagebench/internal/spelling"
)

// quoted matches a value in the API server's list of supported values.
var quoted = regexp.MustCompile(`"([^"]*)"`)

// meantValue returns the supported value that an unsupported value probably stands for, such as "Any" for "any". It
// returns "" if there is none.
func meantValue(fault *field.Error) string {
	wrong, is := fault.BadValue.(string)
	if !is || wrong == "" {
		return ""
	}
	var supported []string
	for _, match := range quoted.FindAllStringSubmatch(fault.Detail, -1) {
		supported = append(supported, match[1])
	}
	if i := spelling.Nearest(strings.ToLower(wrong), lower(supported), min(3, len(wrong))); i >= 0 {
		return supported[i]
	}
	return ""
}

// spokenDuration matches a duration as people write it: 10 min, 1.5h, 2 days.
var spokenDuration = regexp.MustCompile(`^([0-9]{1,8}(?:\.[0-9]{1,3})?) ?([a-z]{1,12})$`)

// spokenUnits maps the names of time units to their length.
var spokenUnits = map[string]time.Duration{
	"us": time.Microsecond, "ms": time.Millisecond, "msec": time.Millisecond,
	"s": time.Second, "sec": time.Second, "secs": time.Second, "second": time.Second, "seconds": time.Second,
	"m": time.Minute, "min": time.Minute, "mins": time.Minute, "minute": time.Minute, "minutes": time.Minute,
	"h": time.Hour, "hr": time.Hour, "hrs": time.Hour, "hour": time.Hour, "hours": time.Hour, "d": 24 * time.Hour, "day": 24 * time.Hour, "days": 24 * time.Hour,
}

// wrongDuration matches the messages of storagebench's own rules about a wrong duration, and captures the units that
// the field accepts.
var wrongDuration = regexp.MustCompile(`use whole numbers (?:above zero )?with the units ([a-z, ]+) in that order`)

// meantDuration returns the accepted spelling of a wrong duration, such as 1h30m for 1.5h. It returns "" if the message
// is not about a duration, or if the field's units cannot express it.
func meantDuration(value any, message string) string {
	text, is := value.(string)
	about, match := wrongDuration.FindStringSubmatch(message), spokenDuration.FindStringSubmatch(strings.ToLower(strings.TrimSpace(text)))
	if !is || about == nil || match == nil || spokenUnits[match[2]] == 0 {
		return ""
	}
	number, err := strconv.ParseFloat(match[1], 64)
	if err != nil {
		return ""
	}
	const longest = 7 * 24 * time.Hour
	nanoseconds := number * float64(spokenUnits[match[2]])
	if nanoseconds > float64(longest) {
		return ""
	}
	rest := time.Duration(nanoseconds).Round(time.Microsecond)
	var made strings.Builder
	for _, unit := range strings.Split(about[1], ", ") {
		if count := rest / spokenUnits[unit]; count > 0 {
			fmt.Fprintf(&made, "%d%s", count, unit)
			rest %= spokenUnits[unit]
		}
	}
	if rest != 0 {
		return ""
	}
	return made.String()
}

// rate matches a quantity of bytes per second as people write it, such as 100MB/s or 1.5GiB/s.
var rate = regexp.MustCompile(`^([0-9]{1,9}(?:\.[0-9]{1,3})?) ?([kKMGT]i?)?B?(?:/s|ps)?$`)

// meantRate returns the quantity that a rate with a unit stands for, such as 100M for 100MB/s. It returns "" if the
// message is not about a rate.
func meantRate(value any, message string) string {
	text, _ := value.(string)
	match := rate.FindStringSubmatch(text)
	if match == nil || !decimalRate.MatchString(message) {
		return ""
	}
	prefix := match[2]
	if prefix == "K" {
		prefix = "k"
	} else if prefix == "ki" {
		prefix = "Ki"
	}
	if meant := match[1] + prefix; meant != text {
		return meant
	}
	return ""
}

// decimalRate matches a message about a field that accepts a rate, or another quantity with a decimal suffix.
var decimalRate = regexp.MustCompile(`above zero, such as [0-9]+[MGT]$`)

// percentile matches a percentile as people write it, such as p99.
var percentile = regexp.MustCompile(`^[pP]([0-9]{1,2}(?:\.[0-9]{1,4})?)$`)

// meantPercentile returns the accepted spelling of a percentile, such as "99" for p99. It returns "" for other fields
// and values.
func meantPercentile(path string, value any) string {
	text, _ := value.(string)
	if match := percentile.FindStringSubmatch(text); match != nil && strings.HasSuffix(path, ".percentile") {
		return strconv.Quote(match[1])
	}
	return ""
}

// mostListed is the maximum number of values or fields that a message lists.
const mostListed = 8

// withValues adds the allowed values to a message about a missing field. If an object is required but the value is not
// one, it adds the names of the object's fields.
func withValues(schema *structuralschema.Structural, message string) string {
	switch {
	case message == "required; add it" && schema.ValueValidation != nil:
		var values []string
		for _, value := range schema.ValueValidation.Enum {
			excluded := fmt.Sprintf("self != '%v'", value.Object)
			if !slices.ContainsFunc(schema.XValidations, func(rule apiextensionsv1.ValidationRule) bool { return rule.Rule == excluded }) {
				values = append(values, fmt.Sprint(value.Object))
			}
		}
		if len(values) > 0 && len(values) <= mostListed {
			return "required; add one of " + strings.Join(values, ", ")
		}
	case strings.HasSuffix(message, wantedTypes["object"]):
		if fields := slices.Sorted(maps.Keys(schema.Properties)); len(fields) > 0 && len(fields) <= mostListed {
			return message + "; known fields: " + strings.Join(fields, ", ")
		}
	}
	return message
}
