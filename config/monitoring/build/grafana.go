package build

// Dashboard is the JSON model of a Grafana dashboard, with only the fields that this package sets.
type Dashboard struct {
	UID           string     `json:"uid"`
	Title         string     `json:"title"`
	Description   string     `json:"description"`
	Tags          []string   `json:"tags"`
	Editable      bool       `json:"editable"`
	SchemaVersion int        `json:"schemaVersion"`
	Version       int        `json:"version"`
	Refresh       string     `json:"refresh"`
	Time          TimeRange  `json:"time"`
	Templating    Templating `json:"templating"`
	Panels        []Panel    `json:"panels"`
}

// TimeRange is the initial time range of a dashboard.
type TimeRange struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Templating holds the variables of a dashboard.
type Templating struct {
	List []Variable `json:"list"`
}

// Variable is a variable of a dashboard, shown as a drop-down list at its top.
type Variable struct {
	Name       string      `json:"name"`
	Label      string      `json:"label"`
	Type       string      `json:"type"`
	Datasource *Datasource `json:"datasource,omitempty"`
	// Query is a label_values query if Type is query, or the type of the data source plugin if Type is datasource.
	Query      string `json:"query"`
	Refresh    int    `json:"refresh,omitempty"`
	Sort       int    `json:"sort,omitempty"`
	Multi      bool   `json:"multi"`
	IncludeAll bool   `json:"includeAll"`
	AllValue   string `json:"allValue,omitempty"`
}

// Datasource is the data source of a panel or variable.
type Datasource struct {
	Type string `json:"type"`
	UID  string `json:"uid"`
}

// Panel is one panel of a dashboard.
type Panel struct {
	ID          int         `json:"id"`
	Type        string      `json:"type"`
	Title       string      `json:"title"`
	Description string      `json:"description,omitempty"`
	Datasource  *Datasource `json:"datasource,omitempty"`
	GridPos     GridPos     `json:"gridPos"`
	Targets     []Target    `json:"targets"`
	FieldConfig FieldConfig `json:"fieldConfig"`
	Options     any         `json:"options,omitempty"`
}

// GridPos is the position and size of a panel, on a grid of 24 columns.
type GridPos struct {
	H int `json:"h"`
	W int `json:"w"`
	X int `json:"x"`
	Y int `json:"y"`
}

// Target is one query of a panel.
type Target struct {
	RefID        string `json:"refId"`
	Expr         string `json:"expr"`
	LegendFormat string `json:"legendFormat,omitempty"`
	Instant      bool   `json:"instant,omitempty"`
	Range        bool   `json:"range,omitempty"`
}

// FieldConfig sets how the values of a panel are displayed.
type FieldConfig struct {
	Defaults  Defaults `json:"defaults"`
	Overrides []any    `json:"overrides"`
}

// Defaults apply to all series of a panel.
type Defaults struct {
	Unit   string         `json:"unit,omitempty"`
	Min    *float64       `json:"min,omitempty"`
	Max    *float64       `json:"max,omitempty"`
	Custom map[string]any `json:"custom,omitempty"`
}

// Units in Grafana's notation. They all have decimal prefixes, as in storagebench's reports.
const (
	unitBytesPerSecond      = "Bps"
	unitOperationsPerSecond = "iops"
	unitSeconds             = "s"
	unitBytes               = "decbytes"
	unitRatio               = "percentunit"
	unitCount               = "short"
	unitDate                = "dateTimeFromNow"
)

var prometheusSource = &Datasource{Type: "prometheus", UID: "${datasource}"}

// layout places panels in rows.
type layout struct {
	panels    []Panel
	x, y, row int
}

const columns = 24

// add places a panel in the current row, or in the next one if it does not fit.
func (l *layout) add(panel Panel, width, height int) {
	if l.x+width > columns {
		l.x, l.y, l.row = 0, l.y+l.row, 0
	}
	panel.ID = len(l.panels) + 1
	panel.Datasource = prometheusSource
	panel.GridPos = GridPos{H: height, W: width, X: l.x, Y: l.y}
	if panel.FieldConfig.Overrides == nil {
		panel.FieldConfig.Overrides = []any{}
	}
	l.panels = append(l.panels, panel)
	l.x += width
	l.row = max(l.row, height)
}

// query is a PromQL query of a panel, with the legend for its series.
type query struct{ expression, legend string }

func targets(instant bool, queries []query) []Target {
	var all []Target
	for i, one := range queries {
		all = append(all, Target{RefID: string(rune('A' + i)), Expr: one.expression, LegendFormat: one.legend,
			Instant: instant, Range: !instant})
	}
	return all
}

// graph adds a panel that shows series over time.
func (l *layout) graph(title, unit, description string, queries ...query) {
	zero := 0.0
	l.add(Panel{Type: "timeseries", Title: title, Description: description, Targets: targets(false, queries),
		FieldConfig: FieldConfig{Defaults: Defaults{Unit: unit, Min: &zero, Custom: map[string]any{
			"drawStyle": "line", "lineWidth": 1, "fillOpacity": 5, "showPoints": "auto", "spanNulls": false}}},
		Options: map[string]any{
			"legend":  map[string]any{"displayMode": "table", "placement": "bottom", "calcs": []string{"lastNotNull", "max"}},
			"tooltip": map[string]any{"mode": "multi", "sort": "desc"}}}, columns/2, 9)
}

// number adds a panel that shows current values.
func (l *layout) number(title, unit, description string, queries ...query) {
	l.add(Panel{Type: "stat", Title: title, Description: description, Targets: targets(true, queries),
		FieldConfig: FieldConfig{Defaults: Defaults{Unit: unit}},
		Options: map[string]any{"reduceOptions": map[string]any{"calcs": []string{"lastNotNull"}}, "textMode": "auto",
			"colorMode": "none", "graphMode": "none"}}, columns/6, 4)
}

// word adds a panel that shows the legend of each series as text. It does not show the value, which is always 1.
func (l *layout) word(title, description string, queries ...query) {
	l.add(Panel{Type: "stat", Title: title, Description: description, Targets: targets(true, queries),
		FieldConfig: FieldConfig{Defaults: Defaults{}},
		Options: map[string]any{"reduceOptions": map[string]any{"calcs": []string{"lastNotNull"}}, "textMode": "name",
			"colorMode": "none", "graphMode": "none"}}, columns/6, 4)
}

// bars adds a panel that shows current values as horizontal bars.
func (l *layout) bars(title, unit, description string, queries ...query) {
	zero := 0.0
	l.add(Panel{Type: "bargauge", Title: title, Description: description, Targets: targets(true, queries),
		FieldConfig: FieldConfig{Defaults: Defaults{Unit: unit, Min: &zero}},
		Options: map[string]any{"orientation": "horizontal", "displayMode": "basic",
			"reduceOptions": map[string]any{"calcs": []string{"lastNotNull"}}}}, columns/2, 8)
}

// states adds a panel that shows the state of each series over time.
func (l *layout) states(title, description string, queries ...query) {
	l.add(Panel{Type: "state-timeline", Title: title, Description: description, Targets: targets(false, queries),
		FieldConfig: FieldConfig{Defaults: Defaults{Custom: map[string]any{"fillOpacity": 70, "lineWidth": 0}}},
		Options:     map[string]any{"mergeValues": true, "showValue": "auto", "rowHeight": 0.8}}, columns/2, 7)
}

// variables returns the variables at the top of a dashboard: the data source, followed by one variable for each named
// label of the metric. Each label variable offers only the values of series that match the selections in the preceding
// variables.
func variables(metric string, names ...string) Templating {
	list := []Variable{{Name: "datasource", Label: "Data source", Type: "datasource", Query: "prometheus"}}
	matchers := ""
	for _, name := range names {
		list = append(list, Variable{Name: name, Label: name, Type: "query", Datasource: prometheusSource,
			Query: "label_values(" + metric + "{" + matchers + "}, " + name + ")", Refresh: 2, Sort: 1})
		if matchers != "" {
			matchers += ", "
		}
		matchers += name + `="$` + name + `"`
	}
	return Templating{List: list}
}
