package measure

import (
	"encoding/json"
	"testing"
)

func TestOperationNames(t *testing.T) {
	for i, name := range []string{"Read", "Write", "Trim", "Sync", "Create", "Stat", "Delete"} {
		operation := Operations[i]
		if got := operation.String(); got != name {
			t.Errorf("operation %d is called %q, want %q", i, got, name)
		}
		parsed, err := ParseOperation(name)
		if err != nil || parsed != operation {
			t.Errorf("ParseOperation(%q) = %v, %v", name, parsed, err)
		}
	}
	for _, name := range []string{"", "read", "READ", "Reads", "Operation(7)"} {
		if parsed, err := ParseOperation(name); err == nil {
			t.Errorf("ParseOperation(%q) = %v, want an error", name, parsed)
		}
	}
	for _, unknown := range []Operation{-1, NumOperations} {
		if _, err := unknown.MarshalText(); err == nil {
			t.Errorf("%v was written as text", unknown)
		}
	}
}

func TestOperationAsKeyInJSON(t *testing.T) {
	in := map[Operation]int{Read: 1, Sync: 4}
	text, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"Read":1,"Sync":4}`; string(text) != want {
		t.Fatalf("got %s, want %s", text, want)
	}
	var out map[Operation]int
	if err := json.Unmarshal(text, &out); err != nil || len(out) != 2 || out[Sync] != 4 {
		t.Fatalf("got %v, %v", out, err)
	}
	if err := json.Unmarshal([]byte(`{"fsync":4}`), &out); err == nil {
		t.Fatal("an unknown operation was accepted")
	}
}
