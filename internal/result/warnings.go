package result

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/storagebench/storagebench/api/v1alpha1"
	"github.com/storagebench/storagebench/internal/measure"
)

// Limits that the API sets on the lengths of lists and messages.
const (
	maxWarnings      = 32
	maxMessageLength = 512
	maxClientsListed = 16
)

const (
	// maxStatements is the maximum number of statements quoted in one warning.
	maxStatements = 3
	// maxClientsNamed is the maximum number of clients named in one statement.
	maxClientsNamed = 4
)

// warnings collects problems, with one entry per type regardless of the number of clients, so that a thousand clients
// with one problem do not hide another problem.
type warnings struct {
	types []v1alpha1.WarningType
	// statements holds the statements of each type, in the order in which they were added.
	statements map[v1alpha1.WarningType][]statement
}

// statement is a text and the clients that it concerns. The list of clients is empty if the text concerns all clients
// or no particular client.
type statement struct {
	text    string
	clients []int
	// told is true if the text itself names the clients that it concerns, so String does not add their names.
	told bool
}

// add adds a statement about the target, or about clients that the text names.
func (w *warnings) add(kind v1alpha1.WarningType, clients []int, format string, arguments ...any) {
	w.state(kind, statement{text: fmt.Sprintf(format, arguments...), clients: clients, told: true})
}

// addClient adds a statement about one client. Equal texts about several clients are merged.
func (w *warnings) addClient(kind v1alpha1.WarningType, client int, format string, arguments ...any) {
	w.state(kind, statement{text: fmt.Sprintf(format, arguments...), clients: []int{client}})
}

func (w *warnings) state(kind v1alpha1.WarningType, made statement) {
	if w.statements == nil {
		w.statements = map[v1alpha1.WarningType][]statement{}
	}
	known, found := w.statements[kind]
	if !found {
		w.types = append(w.types, kind)
	}
	for i := range known {
		if known[i].text == made.text && known[i].told == made.told {
			known[i].clients = append(known[i].clients, made.clients...)
			return
		}
	}
	w.statements[kind] = append(known, made)
}

var severityOrder = []v1alpha1.Severity{v1alpha1.SeverityDisqualifying, v1alpha1.SeverityWarning, v1alpha1.SeverityInfo}

// rank orders warnings by severity, the worst first. At the same severity, causes precede consequences: if one
// client fails, the others are stopped.
func rank(kind v1alpha1.WarningType, phase v1alpha1.PhaseKind) int {
	rank := 2 * slices.Index(severityOrder, kind.Severity(phase))
	if kind == v1alpha1.WarningResultIncomplete || kind == v1alpha1.WarningCommonWindowTooShort {
		rank++
	}
	return rank
}

// list returns the warnings for a phase of the given kind, ordered by rank and then by when they were added. If there
// are more than the API allows, it omits the least severe ones.
func (w *warnings) list(phase v1alpha1.PhaseKind) []v1alpha1.Warning {
	types := slices.Clone(w.types)
	slices.SortStableFunc(types, func(a, b v1alpha1.WarningType) int { return cmp.Compare(rank(a, phase), rank(b, phase)) })
	var all []v1alpha1.Warning
	for _, kind := range types[:min(len(types), maxWarnings)] {
		all = append(all, w.warning(kind, phase))
	}
	return all
}

func (w *warnings) warning(kind v1alpha1.WarningType, phase v1alpha1.PhaseKind) v1alpha1.Warning {
	clients := map[int]bool{}
	for _, made := range w.statements[kind] {
		for _, client := range made.clients {
			clients[client] = true
		}
	}
	listed := slices.Sorted(maps.Keys(clients))
	made := v1alpha1.Warning{Type: kind, Severity: kind.Severity(phase), Message: message(w.statements[kind])}
	for _, client := range listed[:min(len(listed), maxClientsListed)] {
		made.Clients = append(made.Clients, int32(client)) //nolint:gosec // The API allows far fewer clients.
	}
	return made
}

// message joins the first statements, and appends the number of the other statements, or of the clients that they
// concern.
func message(statements []statement) string {
	var told []string
	for _, made := range statements[:min(len(statements), maxStatements)] {
		told = append(told, made.String())
	}
	rest := ""
	if more := statements[len(told):]; len(more) > 0 {
		clients := map[int]bool{}
		for _, made := range more {
			for _, client := range made.clients {
				clients[client] = true
			}
		}
		rest = fmt.Sprintf("; and %d more", len(more))
		if len(clients) > 0 {
			rest = "; and messages from " + measure.FormatCount(len(clients), "more client")
		}
	}
	// Each statement may use only its share of the message's length, so that a long statement does not hide the others.
	space := maxMessageLength - len(rest) - 2*(len(told)-1)
	for i := range told {
		told[i] = v1alpha1.Truncate(told[i], space/(len(told)-i))
		space -= len([]rune(told[i]))
	}
	return strings.Join(told, "; ") + rest
}

func (s statement) String() string {
	if s.told || len(s.clients) == 0 {
		return s.text
	}
	return clientNames(s.clients) + ": " + s.text
}

// clientNames names clients for a sentence: "client 3", "clients 0, 1, 2, 3 and 8 more".
func clientNames(clients []int) string {
	clients = slices.Compact(slices.Sorted(slices.Values(clients)))
	if len(clients) == 1 {
		return "client " + strconv.Itoa(clients[0])
	}
	var names []string
	for _, client := range clients {
		names = append(names, strconv.Itoa(client))
	}
	return "clients " + measure.FormatList(names, maxClientsNamed)
}

var warningName = regexp.MustCompile(`^[A-Z][A-Za-z]{0,39}$`)

// warningType checks a warning name from an agent. A newer agent may use unknown types, which disqualify the result. An
// invalid name is reported as a tool error, which also disqualifies the result.
func warningType(name string) (kind v1alpha1.WarningType, prefix string) {
	if warningName.MatchString(name) {
		return v1alpha1.WarningType(name), ""
	}
	return v1alpha1.WarningToolError, fmt.Sprintf("the agent reported a warning with the invalid type %q: ", v1alpha1.Truncate(name, 40))
}

// worst collects the clients with a problem, and records which of them has the highest figure.
type worst struct {
	clients []int
	client  int
	figure  float64
}

func (w *worst) add(client int, figure float64) {
	if len(w.clients) == 0 || figure > w.figure {
		w.client, w.figure = client, figure
	}
	w.clients = append(w.clients, client)
}

// others returns a text that states how many clients have the problem, or "" if only one has it.
func (w *worst) others() string {
	if len(w.clients) < 2 {
		return ""
	}
	return fmt.Sprintf(" (the worst of %d clients)", len(w.clients))
}
