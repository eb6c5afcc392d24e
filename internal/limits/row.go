package limits

import (
	"errors"
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Layer is the part of the path from the client to the disk that a limit applies to.
type Layer string

// Possible values of Layer, in order from the client to the disk.
const (
	LayerInstance Layer = "Instance" // the limit applies to a client's machine
	LayerFlow     Layer = "Flow"     // the limit applies to each network connection
	LayerNetwork  Layer = "Network"  // the limit applies to the network of the storage server
	LayerDisk     Layer = "Disk"     // the limit applies to the disks of the server or of the client's machine
	LayerVolume   Layer = "Volume"   // the limit applies to the volume, share or file system itself
)

// OfStorage reports whether the layer belongs to the storage itself, not to the machines that use it.
func (l Layer) OfStorage() bool { return l == LayerNetwork || l == LayerDisk || l == LayerVolume }

// Operation is the operation that a limit applies to.
type Operation string

// Possible values of Operation. Both, the empty value, means reads and writes.
const (
	Both  Operation = ""
	Read  Operation = "Read"
	Write Operation = "Write"
)

// traffic is the kind of traffic that a machine's limit applies to.
type traffic string

const (
	anyTraffic    traffic = ""
	fileTraffic   traffic = "File"   // traffic over the network to a file server
	blockTraffic  traffic = "Block"  // traffic to attached disks
	cachedTraffic traffic = "Cached" // reads from the cache of the machine's host
)

// Source is the publication that a figure comes from.
type Source struct {
	Title string `yaml:"title"`
	URL   string `yaml:"url"`
	// AsOf describes the date of the published figures, such as "2023-06" or "2023-06; sizes of gp3 of 2025". Read is
	// the date on which they were read, in the form YYYY-MM-DD or YYYY-MM.
	AsOf string `yaml:"asOf"`
	Read string `yaml:"read"`
}

// row is an entry of the catalog: the documented limits of one kind of storage or machine.
type row struct {
	key, note    string
	sources      []Source
	size, soldIn float64
	cache        *figure
	limits       []limitRow
	overridden   bool
}

type rowText struct {
	Key    string      `yaml:"key"`
	About  string      `yaml:"about"`
	Source texts       `yaml:"source"`
	Note   string      `yaml:"note"`
	Size   string      `yaml:"size"`
	SoldIn string      `yaml:"soldIn"`
	Cache  yaml.Node   `yaml:"cache"`
	Limits []yaml.Node `yaml:"limits"`
}

// limitRow is one limit in a row of the catalog.
type limitRow struct {
	name            string
	layer           Layer
	operation       Operation
	traffic         traffic
	baseline, burst *figure
	bucket, refill  *figure
	burstSeconds    float64
	unpublished     bool // the vendor does not publish the size of the bucket
	billed          bool // the burst is billed instead of paid with credits
	operationUnit   float64
	above, upTo     float64
	regions         []string
	regionalBurst   *figure
	raised          bool // the limit applies to bytes as stored, so compression raises the data rate that it allows
	passed          bool // the limit does not apply to reads that a cache serves
	note            string
}

type limitText struct {
	Name          string    `yaml:"name"`
	Layer         Layer     `yaml:"layer"`
	Operation     Operation `yaml:"operation"`
	Traffic       traffic   `yaml:"traffic"`
	Baseline      yaml.Node `yaml:"baseline"`
	Burst         yaml.Node `yaml:"burst"`
	Bucket        yaml.Node `yaml:"bucket"`
	BurstSeconds  string    `yaml:"burstSeconds"`
	Refill        yaml.Node `yaml:"refill"`
	OperationUnit string    `yaml:"operationUnit"`
	Above         string    `yaml:"above"`
	UpTo          string    `yaml:"upTo"`
	Regional      *struct {
		Burst   yaml.Node `yaml:"burst"`
		Regions []string  `yaml:"regions"`
	} `yaml:"regional"`
	Compression string `yaml:"compression"`
	CachedReads string `yaml:"cachedReads"`
	Note        string `yaml:"note"`
}

// parseRow parses a row. If it fails, the result still contains the row's key, if the row has one.
func parseRow(node *yaml.Node, sources map[string]Source) (row, error) {
	var text rowText
	if err := strictly(node, &text); err != nil {
		return row{key: keyOf(node)}, err
	}
	made := row{key: text.Key, note: text.Note}
	switch {
	case text.Key == "":
		return made, errors.New("key: missing; set a key such as my-store/fast")
	case len(text.Source) == 0:
		return made, errors.New("source: missing; name an entry of sources")
	case len(text.Limits) == 0:
		return made, errors.New("limits: missing; add at least one")
	}
	for _, name := range text.Source {
		source, known := sources[name]
		if !known {
			return made, fmt.Errorf("source: %.60q is not in sources; add or correct it", name)
		}
		made.sources = append(made.sources, source)
	}
	var err error
	if made.size, err = amountOf("size", text.Size, byteAmount); err != nil {
		return made, err
	}
	if made.soldIn, err = amountOf("soldIn", text.SoldIn, byteAmount); err != nil {
		return made, err
	}
	if !text.Cache.IsZero() {
		if made.cache, err = parseFigure(&text.Cache, byteAmount); err != nil {
			return made, fmt.Errorf("cache: %w", err)
		}
	}
	for index := range text.Limits {
		limit, err := parseLimit(&text.Limits[index])
		if err != nil {
			return made, fmt.Errorf("limit %d %q: %w", index+1, limit.name, err)
		}
		made.limits = append(made.limits, limit)
	}
	return made, nil
}

// keyOf returns the key of a row that cannot be parsed.
func keyOf(node *yaml.Node) string {
	for index := 0; index+1 < len(node.Content); index += 2 {
		if node.Content[index].Value == "key" {
			return node.Content[index+1].Value
		}
	}
	return ""
}

func amountOf(field, text string, of kind) (float64, error) {
	if text == "" {
		return 0, nil
	}
	q, err := parseQuantity(text, of)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", field, err)
	}
	if q.unit.perBytes > 0 || q.number == 0 {
		return 0, fmt.Errorf("%s: %q must be a plain number greater than zero, such as %s", field, text, example([]kind{of}))
	}
	return q.value(), nil
}

func oneOf[T ~string](field string, value T, known ...T) error {
	if slices.Contains(known, value) {
		return nil
	}
	return fmt.Errorf("%s: unknown value %.40q; use one of %q", field, value, known)
}
