package mpi

import (
	"fmt"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "rank" { // this program also serves as the agent's
		fmt.Fprintln(os.Stderr, Rank(os.Args[2:]))
		os.Exit(1)
	}
	os.Exit(m.Run())
}
