package limits

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// figure computes one number of a limit, such as its baseline, in one of three ways:
//
//	base + each x capacity    from the capacity of the storage
//	parameter                 from a provisioned parameter of the storage
//	times x baseline          as a multiple of the limit's baseline
//
// The result is at most mostEach x capacity, at least min and at most max, where these are set.
type figure struct {
	base, min, max         *quantity
	each                   []quantity
	mostEach               *quantity
	roundUp                bool
	parameter, perCapacity string // names of provisioned parameters
	parameterUnit          *quantity
	perCapacityUnit        *quantity
	preset                 *quantity // the default for an absent parameter
	optional               bool      // if true and the parameter is absent, the limit is base + each x capacity
	times                  float64
	kind                   kind
}

// environment holds the values from which figures are computed.
type environment struct {
	// capacityBytes is the size of the volume; 0 if it is not known.
	capacityBytes float64
	// terabytes is the capacity in the vendor's TiB of 1,000 GiB, or 0 if the vendor's TiB is 2^40 bytes.
	terabytes float64
	// parameter returns the value of the named parameter, or false if the storage has no such parameter.
	parameter func(name string) (string, bool)
	// complete is true if absent parameters are known to have the driver's defaults; otherwise their values are
	// unknown.
	complete bool
	// baseline is the computed baseline of the limit. The limit's other figures can be multiples of it.
	baseline float64
}

// value is the result of evaluating a figure: either an amount with its arithmetic as text, or a description of what is
// missing. Amounts are in bytes, operations or seconds, and rates are per second.
type value struct {
	amount  float64
	text    string
	missing *Missing
}

func unknown(field, what string) value { return value{missing: &Missing{Field: field, What: what}} }

// capacityField is the API field that sets a size that cannot be discovered.
const capacityField = "documented.capacity"

// of computes the value of the figure from the inputs in e.
func (f *figure) of(e environment) value {
	if f.times > 0 {
		made := f.bounded(value{amount: f.times * e.baseline, text: number(f.times) + " x the baseline"}, e)
		made.text += " = " + in(made.amount, plainUnit(f.kind))
		return made
	}
	made, found := value{}, false
	if f.parameter != "" {
		made, found = f.provisioned(e)
	}
	if !found {
		made = f.sum(e)
	}
	if made.missing != nil {
		return made
	}
	return f.bounded(made, e)
}

// provisioned returns the value that the provisioned parameters determine. It returns false if they are absent and the
// figure is optional; the value is then base + each x capacity.
func (f *figure) provisioned(e environment) (value, bool) {
	if text, given := e.parameter(f.parameter); given {
		amount, err := strconv.ParseFloat(text, 64)
		if err != nil || amount <= 0 {
			return unknown(f.parameter, fmt.Sprintf("the parameter is %.40q, not a number above zero", text)), true
		}
		return value{amount: amount * f.parameterUnit.unit.factor, text: f.parameter + " is " + number(amount) + " " + f.parameterUnit.name}, true
	}
	if text, given := e.parameter(f.perCapacity); f.perCapacity != "" && given {
		amount, err := strconv.ParseFloat(text, 64)
		if err != nil || amount <= 0 {
			return unknown(f.perCapacity, fmt.Sprintf("the parameter is %.40q, not a number above zero", text)), true
		}
		by := *f.perCapacityUnit
		by.number = amount
		return (&figure{each: []quantity{by}}).sum(e), true
	}
	switch {
	case f.optional:
		return value{}, false
	case f.preset != nil && e.complete:
		return value{amount: f.preset.value(), text: f.preset.String() + ", the default"}, true
	}
	return unknown(f.parameter, "the provisioned rate is unknown, because the StorageClass does not set it or does not exist; set documented.throughput and documented.iops"), true
}

// sum returns base + each x capacity.
func (f *figure) sum(e environment) value {
	if len(f.each) > 0 && e.capacityBytes <= 0 {
		return unknown(capacityField, "the size of the storage is unknown, and its limits depend on it; set documented.capacity, such as 5Ti")
	}
	var terms []string
	amount, name := 0.0, ""
	if f.base != nil {
		amount, name = f.base.value(), f.base.name
		terms = append(terms, f.base.String())
	}
	for _, each := range f.each {
		size, text := e.size(each)
		term := size * each.number
		text += " x " + each.String()
		if f.roundUp {
			term = math.Ceil(term)
			text += " rounded up"
		}
		amount, name = amount+term*each.unit.factor, each.flat()
		terms = append(terms, text)
	}
	text := strings.Join(terms, " + ")
	if len(f.each) > 0 {
		text += " = " + in(amount, name)
	}
	return value{amount: amount, text: text}
}

// size returns the capacity in the unit (GiB or TiB) to which a figure refers, as a number and as text.
func (e environment) size(q quantity) (float64, string) {
	if q.unit.perBytes == gibibyte {
		return e.capacityBytes / gibibyte, number(e.capacityBytes/gibibyte) + " GiB"
	}
	terabytes := e.capacityBytes / tebibyte
	if e.terabytes > 0 {
		terabytes = e.terabytes
	}
	return terabytes, number(terabytes) + " TiB"
}

// bounded applies the minimum and maximum of the figure. If one of them changes the amount, bounded appends this bound
// to the text of the value.
func (f *figure) bounded(v value, e environment) value {
	if f.mostEach != nil {
		if e.capacityBytes <= 0 {
			return unknown(capacityField, "the limits depend on the size of the storage, which is unknown; set documented.capacity, such as 5Ti")
		}
		size, text := e.size(*f.mostEach)
		if most := size * f.mostEach.value(); v.amount > most {
			v.amount, v.text = most, v.text+", at most "+text+" x "+f.mostEach.String()+" = "+in(most, f.mostEach.flat())
		}
	}
	if f.min != nil && v.amount < f.min.value() {
		v.amount, v.text = f.min.value(), v.text+", at least "+f.min.String()
	}
	if f.max != nil && v.amount > f.max.value() {
		v.amount, v.text = f.max.value(), v.text+", at most "+f.max.String()
	}
	return v
}

// plainUnit returns the unit in which values of a kind are displayed, such as MB/s for byte rates.
func plainUnit(k kind) string {
	switch k {
	case byteRate:
		return "MB/s"
	case operationRate:
		return "IOPS"
	case byteAmount:
		return "GB"
	case ioAmount:
		return "IO"
	case duration:
		return "s"
	}
	return ""
}
