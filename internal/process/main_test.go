package process

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/storagebench/storagebench/test/hang"
)

// role is the environment variable that makes the test binary play a process that a test loses or supervises. Each role
// affects a whole process: its threads, its orphans, its exit.
const role = "STORAGEBENCH_TEST_ROLE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case "":
		os.Exit(m.Run())
	case "parent":
		play(parentRole())
	case "reaper":
		play(reaperRole())
	case "threads":
		play(threadsRole())
	case "killer":
		play(killerRole())
	case "init":
		play(initRole())
	}
}

func play(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// actor returns a command that plays a role.
func actor(t *testing.T, name string) *exec.Cmd {
	t.Helper()
	command := exec.CommandContext(t.Context(), "/proc/self/exe")
	command.Env = append(os.Environ(), role+"="+name)
	command.Stderr = os.Stderr
	return command
}

// parentRole starts a command, prints its PID and waits until it is killed.
func parentRole() error {
	h, err := Start(exec.CommandContext(context.Background(), "sleep", "1000"))
	if err != nil {
		return err
	}
	fmt.Println(h.PID())
	return h.Wait()
}

// threadsRole ends the threads that started commands. The commands must survive.
func threadsRole() error {
	var handles []*Handle
	for range 20 {
		begun := make(chan *Handle)
		go func() {
			runtime.LockOSThread() // not unlocked, so that the thread ends with the goroutine
			h, err := Start(exec.CommandContext(context.Background(), "sleep", "1000"))
			if err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
			begun <- h
		}()
		handles = append(handles, <-begun)
	}
	time.Sleep(300 * time.Millisecond)
	for _, h := range handles {
		select {
		case <-h.Exited():
			return fmt.Errorf("command %d died with a thread: %w", h.PID(), h.Wait())
		default:
		}
		if err := h.Kill(); err != nil {
			return err
		}
		if err := h.Wait(); err == nil {
			return errors.New("a killed command ended well")
		}
	}
	return nil
}

// reaperRole creates orphans while other goroutines run commands with os/exec and with Start.
func reaperRole() error {
	if err := SetSubreaper(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go Reap(ctx)
	var wait sync.WaitGroup
	failures := make(chan error, 1000)
	for range 4 {
		wait.Go(func() {
			for i := range 20 {
				// The grandchild leaves the session, and this process adopts it.
				if err := exec.CommandContext(ctx, "sh", "-c", "(setsid sh -c 'sleep 0.05; exit 3' &) ; exit 0").Run(); err != nil {
					failures <- fmt.Errorf("a command that makes an orphan: %w", err)
				}
				h, err := Start(exec.CommandContext(ctx, "sh", "-c", "exit "+strconv.Itoa(i%7)))
				if err != nil {
					failures <- err
					continue
				}
				if i%3 == 0 {
					time.Sleep(20 * time.Millisecond) // call Wait late
				}
				err = h.Wait()
				var exit *exec.ExitError
				if got := 0; err != nil && !errors.As(err, &exit) || exit != nil && exit.ExitCode() != i%7 || exit == nil && i%7 != got {
					failures <- fmt.Errorf("exit %d came as %w", i%7, err)
				}
			}
		})
	}
	// Wait for this command long after the age at which an orphan is reaped.
	late, err := Start(exec.CommandContext(ctx, "sh", "-c", "exit 5"))
	if err != nil {
		return err
	}
	wait.Wait()
	// When an orphan that exited later is gone, this command would also have been reaped.
	if err := exec.CommandContext(ctx, "sh", "-c", "(setsid true &) ; exit 0").Run(); err != nil {
		return err
	}
	if err := leftAre(1); err != nil {
		return err
	}
	var exit *exec.ExitError
	if err := late.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 5 {
		return fmt.Errorf("the late one: %w", err)
	}
	close(failures)
	for err := range failures {
		return err
	}
	return leftAre(0)
}

// leftAre waits until this process has count descendants.
func leftAre(count int) error {
	ctx, cancel := context.WithTimeout(context.Background(), hang.Guard)
	defer cancel()
	for {
		left, err := Descendants(os.Getpid())
		if err != nil || len(left) == count {
			return err
		}
		if ctx.Err() != nil {
			return &LeftError{Processes: left}
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// initRole is process 1 of a PID namespace, like the agent in a pod. It adopts every orphan.
func initRole() error {
	if os.Getpid() != 1 {
		return fmt.Errorf("we are process %d", os.Getpid())
	}
	if err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make the mounts private: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), hang.Guard)
	defer cancel()
	for range 10 {
		script := "(setsid sh -c 'trap \"\" TERM; sleep 1000 & sleep 1000' &) ; exit 0"
		if err := exec.CommandContext(ctx, "sh", "-c", script).Run(); err != nil {
			return fmt.Errorf("make orphans: %w", err)
		}
	}
	before, err := Descendants(1)
	if err != nil {
		return err
	}
	if len(before) < 10 {
		return fmt.Errorf("%d orphans, want 10 or more", len(before))
	}
	if err := KillDescendants(ctx, 1); err != nil {
		return err
	}
	processes, err := table()
	if err != nil {
		return err
	}
	if len(processes) != 1 {
		return &LeftError{Processes: processes}
	}
	return nil
}

func TestProcessOneLeavesNobodyBehind(t *testing.T) {
	first := actor(t, "init")
	first.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	if os.Getuid() != 0 {
		first.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		first.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		first.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	err := first.Run()
	if first.ProcessState == nil {
		t.Skipf("this machine gives no PID namespace: %v", err)
	}
	must(t, err)
}

func TestCommandsDieWithUs(t *testing.T) {
	parent := actor(t, "parent")
	stdout, err := parent.StdoutPipe()
	must(t, err)
	must(t, parent.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	must(t, err)
	child, err := strconv.Atoi(strings.TrimSpace(line))
	must(t, err)
	if !alive(child) {
		t.Fatal("the command does not run")
	}
	must(t, parent.Process.Kill())
	_ = parent.Wait()
	eventually(t, "the command outlives its parent", func() bool { return !alive(child) })
}

func TestCommandsOutliveTheThreadThatStartedThem(t *testing.T) {
	must(t, actor(t, "threads").Run())
}

func TestReapStealsNoStatus(t *testing.T) {
	must(t, actor(t, "reaper").Run())
}

func alive(pid int) bool {
	stat, err := readStat(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !stat.ended()
}

func eventually(t *testing.T, otherwise string, condition func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang.Guard)
	defer cancel()
	for ctx.Err() == nil {
		if condition() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal("hung: " + otherwise)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustStart(t *testing.T, name string, arguments ...string) *Handle {
	t.Helper()
	h, err := Start(exec.CommandContext(t.Context(), name, arguments...))
	must(t, err)
	t.Cleanup(func() {
		_ = h.Kill()
		_ = h.Wait()
	})
	return h
}

func signalled(err error) syscall.Signal {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			return status.Signal()
		}
	}
	return 0
}
