package fio

import "github.com/storagebench/storagebench/internal/measure"

// directions are the JSON names of fio's directions, in the order of measure.Operations. fio has no direction for
// operations on file names; see fileEngines.
var directions = [measure.Sync + 1]string{
	measure.Read:  "read",
	measure.Write: "write",
	measure.Trim:  "trim",
	measure.Sync:  "sync",
}
