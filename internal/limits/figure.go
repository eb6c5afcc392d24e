package limits

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// figure is how a limit follows from a size and from what was provisioned:
//
//	base + each x capacity | parameter | times x baseline,   then at least min, at most max and mostEach x capacity
type figure struct {
	base, min, max         *quantity
	each                   []quantity
	mostEach               *quantity
	roundUp                bool
	parameter, perCapacity string // names of parameters
	parameterUnit          *quantity
	perCapacityUnit        *quantity
	preset                 *quantity // when the parameter is absent
	optional               bool      // base and each apply when the parameter is absent
	times                  float64
	kind                   kind
}

// environment is what figures depend on.
type environment struct {
	// capacityBytes is 0 where it is not known.
	capacityBytes float64
	// terabytes is the capacity in the vendor's TiB where that is not 2^40 bytes, otherwise 0.
	terabytes float64
	// parameter gives what was provisioned.
	parameter func(name string) (string, bool)
	// complete tells that an absent parameter means the driver's default; otherwise it is not known.
	complete bool
	// baseline is the value of the baseline, for figures that are a multiple of it.
	baseline float64
}

// value is what a figure comes to, in bytes, operations or seconds (a second), with the arithmetic as a
// text; or what is missing for it.
type value struct {
	amount  float64
	text    string
	missing *Missing
}

func unknown(field, what string) value { return value{missing: &Missing{Field: field, What: what}} }

// capacityField is the field of the API that gives a size where none can be discovered.
const capacityField = "limits.capacity"

// of evaluates the figure.
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

// provisioned is what the parameters say; false where figures of another kind apply.
func (f *figure) provisioned(e environment) (value, bool) {
	if text, given := e.parameter(f.parameter); given {
		amount, err := strconv.ParseFloat(text, 64)
		if err != nil || amount <= 0 {
			return unknown(f.parameter, fmt.Sprintf("the parameter is %.40q, which is no number above zero", text)), true
		}
		return value{amount: amount * f.parameterUnit.unit.factor, text: f.parameter + " is " + number(amount) + " " + f.parameterUnit.name}, true
	}
	if text, given := e.parameter(f.perCapacity); f.perCapacity != "" && given {
		amount, err := strconv.ParseFloat(text, 64)
		if err != nil || amount <= 0 {
			return unknown(f.perCapacity, fmt.Sprintf("the parameter is %.40q, which is no number above zero", text)), true
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
	return unknown(f.parameter, "what was provisioned is not known: the StorageClass is not there or does not say it; write the limits themselves, in limits.throughput and limits.iops"), true
}

// sum is base + each x capacity.
func (f *figure) sum(e environment) value {
	if len(f.each) > 0 && e.capacityBytes <= 0 {
		return unknown(capacityField, "the size of the storage is not known, and its limits follow from it; write the size, such as 5Ti")
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

// size is the capacity in the size that a figure is of, and its text.
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

// bounded applies the bounds, and says so where one has an effect.
func (f *figure) bounded(v value, e environment) value {
	if f.mostEach != nil {
		if e.capacityBytes <= 0 {
			return unknown(capacityField, "the size of the storage is not known, and bounds its limits; write the size, such as 5Ti")
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

// plainUnit is the unit in which values of a kind are written where nothing says another one.
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
