package limits

import (
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// figureText is a figure in the catalog's notation.
type figureText struct {
	Base                 string  `yaml:"base"`
	Each                 texts   `yaml:"each"`
	RoundUp              bool    `yaml:"roundUp"`
	Parameter            string  `yaml:"parameter"`
	ParameterUnit        string  `yaml:"parameterUnit"`
	PerCapacityParameter string  `yaml:"perCapacityParameter"`
	PerCapacityUnit      string  `yaml:"perCapacityUnit"`
	Optional             bool    `yaml:"optional"`
	Default              string  `yaml:"default"`
	Times                float64 `yaml:"times"`
	Min                  string  `yaml:"min"`
	Max                  string  `yaml:"max"`
	MostEach             string  `yaml:"mostEach"`
}

// texts is a list of strings. In the catalog, a list of one string may be written as just the string.
type texts []string

// UnmarshalYAML accepts a string or a list of strings.
func (t *texts) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		*t = texts{node.Value}
		return nil
	}
	return node.Decode((*[]string)(t))
}

// parseFigure parses a figure, whose unit must measure one of the given quantities, such as bytes per second.
func parseFigure(node *yaml.Node, kinds ...kind) (*figure, error) {
	if node.Kind == yaml.ScalarNode {
		single, err := parseQuantity(node.Value, kinds...)
		if err != nil {
			return nil, err
		}
		if single.unit.perBytes > 0 {
			return &figure{each: []quantity{single}, kind: single.unit.kind}, nil
		}
		return &figure{base: &single, kind: single.unit.kind}, nil
	}
	var text figureText
	if err := strictly(node, &text); err != nil {
		return nil, err
	}
	return text.parse(kinds)
}

// figurePart is a field of a figureText: its name and text, the variable that receives the parsed quantity, and whether
// the quantity must be per GiB or TiB of capacity.
type figurePart struct {
	field, text string
	into        **quantity
	perCapacity bool
}

func (t figureText) parse(kinds []kind) (*figure, error) {
	made := &figure{roundUp: t.RoundUp, optional: t.Optional, parameter: t.Parameter, perCapacity: t.PerCapacityParameter, times: t.Times}
	parts := []figurePart{
		{"base", t.Base, &made.base, false}, {"min", t.Min, &made.min, false}, {"max", t.Max, &made.max, false},
		{"default", t.Default, &made.preset, false}, {"mostEach", t.MostEach, &made.mostEach, true},
		{"parameterUnit", one(t.ParameterUnit), &made.parameterUnit, false}, {"perCapacityUnit", one(t.PerCapacityUnit), &made.perCapacityUnit, true},
	}
	each := make([]*quantity, len(t.Each))
	for index, text := range t.Each {
		parts = append(parts, figurePart{"each", text, &each[index], true})
	}
	for _, figurePart := range parts {
		if figurePart.text == "" {
			continue
		}
		q, err := parseQuantity(figurePart.text, kinds...)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", figurePart.field, err)
		}
		if (q.unit.perBytes > 0) != figurePart.perCapacity {
			return nil, fmt.Errorf("%s: %q is %s; %s", figurePart.field, figurePart.text,
				choose(figurePart.perCapacity, "a plain figure", "a figure per GiB or TiB"),
				choose(figurePart.perCapacity, "use a unit per GiB or TiB, such as 3 IOPS/GiB", "use a unit without capacity, or move the figure to `each`"))
		}
		kinds = []kind{q.unit.kind}
		made.kind = q.unit.kind
		*figurePart.into = &q
	}
	for _, q := range each {
		made.each = append(made.each, *q)
	}
	return made, made.check()
}

func one(unit string) string {
	if unit == "" {
		return ""
	}
	return "1 " + unit
}

func choose[T any](which bool, yes, no T) T {
	if which {
		return yes
	}
	return no
}

func (f *figure) check() error {
	summed, given, multiple := f.base != nil || len(f.each) > 0, f.parameter != "", f.times > 0
	switch {
	case !summed && !given && !multiple:
		return errors.New("the figure is empty: set base, each, parameter or times")
	case multiple && (summed || given):
		return errors.New("times cannot be combined with base, each or parameter; keep one")
	case summed && given && !f.optional:
		return errors.New("base and each set the default of an optional parameter; set optional: true, or remove base and each")
	case f.optional && !summed:
		return errors.New("optional: the parameter has no default; set base or each")
	case f.times < 0:
		return errors.New("times: must not be negative; use a factor such as 3")
	case !given && (f.preset != nil || f.perCapacity != "" || f.optional || f.parameterUnit != nil):
		return errors.New("default, optional, parameterUnit and perCapacityParameter require parameter: set it, or remove them")
	case given && f.parameterUnit == nil:
		return errors.New("parameterUnit: missing; set it to the unit of the parameter, such as MiB/s")
	case f.perCapacity != "" && f.perCapacityUnit == nil:
		return errors.New("perCapacityUnit: missing; set it to the unit of that parameter, such as IOPS/GiB")
	}
	return nil
}
