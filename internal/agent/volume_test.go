package agent

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/dataset"
)

// TestFolder checks that a run works in the folder that its target names, and keeps that folder at the end.
func TestFolder(t *testing.T) {
	t.Parallel()
	r := serve(t, func(a *Agent) { a.env.Config.Volumes[0].Folder = "bench/a" })
	described, err := r.Describe(t.Context(), &agentapi.DescribeRequest{Epoch: 1})
	must(t, err)
	folder := filepath.Join(r.directory, "bench/a")
	if volume := described.GetVolumes()[0]; volume.GetProblem() != "" || volume.GetPath() != folder {
		t.Errorf("got %v", volume)
	}
	if left := r.left(); len(left) != 0 {
		t.Errorf("describing made %v", left)
	}
	ended, _ := r.run(request("a", quickWrite), noLimit)
	if ended.GetOutcome() != agentapi.Outcome_OUTCOME_COMPLETE {
		t.Fatalf("got %v", ended)
	}
	if found, _ := filepath.Glob(filepath.Join(folder, dataPath, "data.*")); len(found) != 1 {
		t.Errorf("the folder has %v", found)
	}
	if answer := r.finish(true); !answer.GetDataRemoved() || answer.GetProblem() != "" {
		t.Errorf("got %v", answer)
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 0 {
		t.Errorf("the folder holds %v, %v", entries, err)
	}
}

// TestFolderThatWasNeverMade checks that a run that ends before it has created its folder creates and removes nothing.
func TestFolderThatWasNeverMade(t *testing.T) {
	t.Parallel()
	r := serve(t, func(a *Agent) { a.env.Config.Volumes[0].Folder = "bench/a" })
	if answer := r.finish(true); !answer.GetDataRemoved() || answer.GetProblem() != "" || len(r.left()) != 0 {
		t.Errorf("got %v, left %v", answer, r.left())
	}
}

func TestFolderThatCannotBe(t *testing.T) {
	t.Parallel()
	r := serve(t, func(a *Agent) { a.env.Config.Volumes[0].Folder = "file/a" })
	must(t, os.WriteFile(filepath.Join(r.directory, "file"), nil, 0o600))
	described, err := r.Describe(t.Context(), &agentapi.DescribeRequest{Epoch: 1})
	must(t, err)
	want := filepath.Join(r.directory, "file") + " is not a directory"
	if problem := described.GetVolumes()[0].GetProblem(); !strings.HasPrefix(problem, want) {
		t.Errorf("described as %q", problem)
	}
	if _, err := r.Load(t.Context(), request("a", endlessWrite)); status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), want) {
		t.Errorf("loaded: %v", err)
	}
}

// putData creates the data of another client of the target.
func putData(t *testing.T, directory string, client int) string {
	t.Helper()
	mount, err := dataset.ProveMount(directory, dataset.Expectation{})
	must(t, err)
	location := dataset.Location{BenchmarkUID: "benchmark-1", DatasetHash: "hash", Client: client}
	data, err := dataset.Create(mount, location, dataset.Owner{BenchmarkUID: "benchmark-1"})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(data.Path(), "data.0.0"), []byte("x"), 0o600))
	must(t, data.Close())
	return data.Path()
}

// TestFinishRemovesTheDataOfLostClients checks that a live client also removes the data of lost clients, and no other
// data.
func TestFinishRemovesTheDataOfLostClients(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	for _, client := range []int{0, 3, 7} {
		putData(t, r.directory, client)
	}
	stays := putData(t, r.directory, 5)
	answer, err := r.Finish(t.Context(), &agentapi.FinishRequest{Epoch: 1, RemoveData: true, RemoveClients: []int32{3, 7, 7, 0, 900}})
	must(t, err)
	if !answer.GetDataRemoved() || answer.GetProblem() != "" {
		t.Errorf("got %v", answer)
	}
	found, err := filepath.Glob(filepath.Join(r.directory, ".storagebench/benchmark-1/hash/client-*"))
	if err != nil || len(found) != 1 || found[0] != stays {
		t.Errorf("left: %v, %v", found, err)
	}
}

// TestFinishSaysWhichClientsStay checks that Finish reports a directory that cannot be removed and removes the others.
func TestFinishSaysWhichClientsStay(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	putData(t, r.directory, 0)
	lost := putData(t, r.directory, 3)
	must(t, os.RemoveAll(lost))
	must(t, os.WriteFile(lost, []byte("somebody else's"), 0o600))
	answer, err := r.Finish(t.Context(), &agentapi.FinishRequest{Epoch: 1, RemoveData: true, RemoveClients: []int32{3}})
	must(t, err)
	if answer.GetDataRemoved() || !strings.Contains(answer.GetProblem(), "volume data: "+lost+" is not a directory") {
		t.Errorf("got %v", answer)
	}
	if _, err := os.Lstat(filepath.Join(r.directory, dataPath)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its own data: %v", err)
	}
}

func TestFinishRefusesMistakes(t *testing.T) {
	t.Parallel()
	r := serve(t, nil)
	for _, request := range []*agentapi.FinishRequest{
		{Epoch: 1, RemoveClients: []int32{3}},
		{Epoch: 1, RemoveData: true, RemoveClients: []int32{-1}},
	} {
		if _, err := r.Finish(t.Context(), request); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%v: %v", request, err)
		}
	}
	select {
	case <-r.agent.Finished():
		t.Error("it finished")
	default:
	}
}
