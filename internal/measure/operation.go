package measure

import "fmt"

// Operation is a kind of I/O that is counted and timed separately.
type Operation int

// All operations, in the order used by arrays that are indexed by Operation.
const (
	// Read is a read of data.
	Read Operation = iota
	// Write is a write of data.
	Write
	// Trim is a discard of blocks.
	Trim
	// Sync is an fsync or fdatasync. It moves no data of its own, but programs such as databases wait for it.
	Sync
	// Create makes an empty file, Stat reads the attributes of a file, and Delete removes a file. These are metadata
	// operations, which move no data.
	Create
	Stat
	Delete
)

// NumOperations is the length of arrays that are indexed by Operation.
const NumOperations = 7

// Operations lists all operations in ascending order.
var Operations = [NumOperations]Operation{Read, Write, Trim, Sync, Create, Stat, Delete}

var operationNames = [NumOperations]string{"Read", "Write", "Trim", "Sync", "Create", "Stat", "Delete"}

// String returns the name as the API spells it, such as "Read".
func (o Operation) String() string {
	if o < 0 || o >= NumOperations {
		return fmt.Sprintf("Operation(%d)", int(o))
	}
	return operationNames[o]
}

// MovesData reports whether the operation reads, writes or discards data. All other operations have no throughput.
func (o Operation) MovesData() bool { return o == Read || o == Write || o == Trim }

// ParseOperation is the inverse of String. It accepts only the exact spelling of the API.
func ParseOperation(name string) (Operation, error) {
	for i, known := range operationNames {
		if name == known {
			return Operation(i), nil
		}
	}
	return 0, fmt.Errorf("unknown operation %q: use Read, Write, Trim, Sync, Create, Stat or Delete", name)
}

// MarshalText returns the name, so that JSON contains names instead of numbers.
func (o Operation) MarshalText() ([]byte, error) {
	if o < 0 || o >= NumOperations {
		return nil, fmt.Errorf("unknown operation %d: use Read, Write, Trim, Sync, Create, Stat or Delete", int(o))
	}
	return []byte(operationNames[o]), nil
}

// UnmarshalText parses the name that MarshalText returns.
func (o *Operation) UnmarshalText(text []byte) error {
	parsed, err := ParseOperation(string(text))
	if err != nil {
		return err
	}
	*o = parsed
	return nil
}
