package ior_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/storagebench/storagebench/images/image"
	"github.com/storagebench/storagebench/images/image/imagetest"
	imageofior "github.com/storagebench/storagebench/images/ior"
	"github.com/storagebench/storagebench/images/packaged"
	"github.com/storagebench/storagebench/internal/engine/ior"
	"github.com/storagebench/storagebench/test/standinior"
)

// launchVariable is the environment variable that turns this test program into a launch agent. It runs the command that
// mpirun sends to another host on this machine instead; the product's agent forwards it over the network.
const launchVariable = "IMAGE_TEST_LAUNCH"

func TestMain(m *testing.M) {
	if os.Getenv(launchVariable) != "" {
		// mpirun writes the command for a shell: it separates words by spaces, and quotes words with a semicolon.
		words := strings.Fields(strings.ReplaceAll(strings.Join(os.Args[2:], " "), `"`, ""))
		program, err := exec.LookPath(words[0])
		if err == nil {
			err = syscall.Exec(program, words, os.Environ()) // #nosec G204 -- what mpirun asks for
		}
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

var made = sync.OnceValues(func() (image.Image, error) {
	return standinior.Image(context.Background(), "v1.2.3", os.Stderr)
})

func opened(t *testing.T) imagetest.Opened {
	t.Helper()
	built, err := made()
	if err != nil {
		t.Fatal(err)
	}
	return imagetest.Open(t, built)
}

func TestImage(t *testing.T) {
	opened := opened(t)
	opened.CheckFiles(t)
	config := opened.Config.Config
	if config.User != "65532:65532" {
		t.Errorf("user %q", config.User)
	}
	if config.Labels[imageofior.LabelPackage] == "" {
		t.Errorf("no label %s", imageofior.LabelPackage)
	}
	var size int64
	for _, file := range opened.Files {
		size += file.Size
		for _, other := range []string{"python", "perl", "bin/sh", "bin/bash", "bin/ssh", "share/man", "usr/include", "gfortran", "java"} {
			if strings.Contains(file.Name, other) {
				t.Errorf("%s is of no use in the image", file.Name)
			}
		}
	}
	t.Logf("%d files, %.1f MB", len(opened.Files), float64(size)/1e6)
	if size > 150e6 {
		t.Errorf("the image has %d bytes: something came in that Open MPI and fio do not need", size)
	}
	list := string(opened.Data(t, packaged.PackagesFile))
	for _, name := range []string{"openmpi-bin=", "openmpi-common=", "fio="} {
		if !strings.Contains("\n"+list, "\n"+name) {
			t.Errorf("%s is not in the list of packages:\n%s", name, list)
		}
	}
}

// environment is the environment of a client pod. It must name an existing launch agent: otherwise Open MPI looks for
// ssh and does not start, not even for local ranks or for a program that runs without mpirun.
var environment = []string{"OMPI_MCA_plm_rsh_agent=/usr/bin/orted", "PATH=/usr/bin", "HOME=/tmp", "TMPDIR=/tmp", "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"}

// TestMPI runs ior and mdtest with only the image as the root file system, read-only except for /tmp. The ranks run
// under a single daemon, and under a second daemon that a launch agent starts.
func TestMPI(t *testing.T) {
	folder := opened(t).Unpack(t)
	here, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	launched := []string{"--noprefix", "--host", here + ":1,127.0.0.2:1", "--mca", "plm_rsh_agent", "/tmp/" + base(self), "--mca", "plm_rsh_no_tree_spawn", "1",
		"--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "lo", "--mca", "oob_tcp_if_include", "lo"}
	for name, flags := range map[string][]string{"one daemon": {"--oversubscribe"}, "two daemons": launched} {
		for _, api := range []string{"POSIX", "MPIIO"} {
			t.Run(name+", "+api, func(t *testing.T) {
				arguments := append(append([]string{"/usr/bin/mpirun"}, flags...), "-np", "2", "ior", "-a", api, "-t", "256k", "-b", "1m", "-F", "-w", "-r", "-i", "2",
					"-O", "summaryFormat=CSV", "-o", "/tmp/data")
				ended := imagetest.RunReadOnly(t, folder, append(environment, launchVariable+"=1"), []string{self}, arguments...)
				output, err := ior.ReadOutput(strings.NewReader(ended.Stdout))
				if err != nil {
					t.Fatal(err)
				}
				result := ior.Final(output, ior.Exit{Code: ended.Code}, ended.Stderr, ior.Expectation{Tasks: 2})
				if result.Outcome != ior.Complete || len(output.Repetitions) != 4 {
					t.Errorf("%v: %s, exit %d\n%s%s", arguments, result.Message, ended.Code, ended.Stdout, ended.Stderr)
				}
			})
		}
	}
	t.Run("mdtest", func(t *testing.T) {
		ended := imagetest.RunReadOnly(t, folder, environment, nil, "/usr/bin/mpirun", "--oversubscribe", "-np", "2", "mdtest", "-n", "10", "-d", "/tmp/tree")
		output, err := ior.ReadMdtestOutput(strings.NewReader(ended.Stdout))
		if err != nil {
			t.Fatal(err)
		}
		if result := ior.FinalMdtest(output, ior.Exit{Code: ended.Code}, ended.Stderr, ior.MdtestExpectation{Tasks: 2}); result.Outcome != ior.Complete {
			t.Errorf("%s, exit %d\n%s%s", result.Message, ended.Code, ended.Stdout, ended.Stderr)
		}
	})
}

// TestMessages checks that the image contains Open MPI's error texts, so that Open MPI does not complain about missing
// files. It cannot require an error text in the output: Open MPI 4.1 sometimes prints only that it could not merge the
// messages of its processes.
func TestMessages(t *testing.T) {
	folder := opened(t).Unpack(t)
	if texts, err := filepath.Glob(filepath.Join(folder, "usr", "share", "openmpi", "help-*.txt")); err != nil || len(texts) == 0 {
		t.Errorf("the image has no texts of Open MPI: %v", err)
	}
	ended := imagetest.RunReadOnly(t, folder, environment, nil, "/usr/bin/mpirun", "-np", "1", "ior", "-r", "-F", "-o", "/tmp/nowhere")
	if ended.Code != 255 || strings.Contains(ended.Stderr, "help file") {
		t.Errorf("exit %d\n%s%s", ended.Code, ended.Stdout, ended.Stderr)
	}
	if ended := imagetest.RunReadOnly(t, folder, environment, nil, "/usr/bin/fio", "--version"); !strings.HasPrefix(ended.Stdout, "fio-") {
		t.Errorf("fio: %+v", ended)
	}
	// Run ior without mpirun, as the agent does to read the version.
	ended = imagetest.RunReadOnly(t, folder, environment, nil, append([]string{"/usr/bin/ior"}, ior.VersionArguments()...)...)
	if output, err := ior.ReadOutput(strings.NewReader(ended.Stdout)); err != nil || output.Version == "" {
		t.Errorf("no version: %+v %v", ended, err)
	}
}

func base(name string) string { return name[strings.LastIndex(name, "/")+1:] }
