package fio

import "github.com/storagebench/storagebench/internal/measure"

// directions are the JSON names of fio's directions, in the order of measure.Operations.
var directions = [measure.NumOperations]string{
	measure.Read:  "read",
	measure.Write: "write",
	measure.Trim:  "trim",
	measure.Sync:  "sync",
}
