package fio

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/storagebench/storagebench/internal/measure"
)

// failing returns output of fio in which one job has failed.
func failing(errno syscall.Errno) Output {
	document := dump("fio-3.33", 2000, 1000, 1000, 1)
	document.Jobs[0].Name, document.Jobs[0].Errno = "load", int(errno)
	return Output{Documents: 1, Last: document}
}

func TestFailuresByErrnoAndWords(t *testing.T) {
	t.Parallel()
	said := func(errno syscall.Errno, function string) string {
		return fmt.Sprintf("fio: pid=7, err=%d/file:x.c:1, func=%s, error=%s\n", int(errno), function, errno.Error())
	}
	for _, test := range []struct {
		errno  syscall.Errno
		stderr string
		want   Failure
	}{
		{syscall.ENOSPC, "", FailureNoSpace},
		{syscall.EDQUOT, "", FailureQuota},
		{syscall.EROFS, "", FailureReadOnly},
		{syscall.ENOENT, "", FailureNoSuchFile},
		{syscall.ENOTDIR, "", FailureNotADirectory},
		{syscall.EISDIR, "", FailureIsADirectory},
		{syscall.EACCES, "", FailurePermission},
		{syscall.EPERM, "", FailurePermission},
		{syscall.EMFILE, "", FailureTooManyFiles},
		{syscall.ENOMEM, "", FailureMemory},
		{syscall.EIO, "", FailureIO},
		{syscall.ESTALE, said(syscall.ESTALE, "io_u error"), FailureIO},
		{syscall.EINVAL, "fio: looks like your file system does not support direct=1/buffered=0\n", FailureDirect},
		{syscall.EINVAL, "fio: the file system does not seem to support direct IO\n", FailureDirect},
		{syscall.EINVAL, "fio: io_u error on file data.0.0: Invalid argument: write offset=1011712, buflen=512\n", FailureDirect},
		{syscall.EINVAL, "", FailureOther},
		{syscall.EDEADLK, "fio seems to be stuck grabbing stat_sem, forcibly exiting\nfio: pid=7, err=35/\n", FailureStuck},
		// io_uring with the default seccomp profile, io_uring in an old kernel, and libaio at its limit fs.aio-max-nr.
		{syscall.EPERM, said(syscall.EPERM, "io_queue_init"), FailureEngineBlocked},
		{syscall.ENOSYS, said(syscall.ENOSYS, "io_queue_init"), FailureEngineBlocked},
		{syscall.EAGAIN, said(syscall.EAGAIN, "io_queue_init"), FailureEngineBlocked},
		{syscall.ENOSYS, "fio: your kernel doesn't support io_uring\n", FailureEngineBlocked},
		// A full volume takes precedence over what other messages suggest.
		{syscall.ENOSPC, "fio: first direct IO errored. File system may not support direct IO\n", FailureNoSpace},
	} {
		result := Final(failing(test.errno), Exit{Code: 1}, test.stderr, Expectation{})
		if result.Outcome != Failed || result.Failure != test.want || !strings.Contains(result.Message, test.errno.Error()) {
			t.Errorf("%v %q: %v %v: %s", test.errno, test.stderr, result.Outcome, result.Failure, result.Message)
		}
	}
}

// TestFailuresByWordsAlone checks that some messages of fio count as a failure even if neither exit status nor document
// shows one.
func TestFailuresByWordsAlone(t *testing.T) {
	t.Parallel()
	for stderr, want := range map[string]Failure{
		"fio: pid=3, got signal=9\n":  FailureKilled,
		"fio: pid=3, got signal=11\n": FailureCrashed,
		"fio: pid=3 disappeared 5\n":  FailureKilled,
		"fio: job 'load' (state=5) hasn't exited in 300 seconds, it appears to be stuck. Doing forceful exit of this job.\n": FailureStuck,
		"fio: job startup hung? exiting.\n":                          FailureStuck,
		"fio: aio appears to be stalled, giving up\n":                FailureStuck,
		"fio: 3 jobs failed to start\n":                              FailureOther,
		"fio: end_fsync failed for file data.0.0\n":                  FailureIO,
		"fio: failed allocating random map. If running a large...\n": FailureMemory,
	} {
		for _, exit := range []Exit{{}, {Code: stoppedCode}} {
			result := Final(failing(0), exit, stderr, Expectation{})
			if result.Outcome != Failed || result.Failure != want {
				t.Errorf("%q: %v %v", stderr, result.Outcome, result.Failure)
			}
			if !strings.Contains(result.Message, strings.TrimPrefix(strings.TrimSpace(stderr), "fio: ")) {
				t.Errorf("the message %q leaves out what fio said: %q", result.Message, stderr)
			}
		}
	}
	if result := Final(failing(0), Exit{}, "", Expectation{}); result.Outcome != Complete || result.Snapshot.Operations[measure.Write].Bytes != 1000 {
		t.Errorf("nothing wrong: %v %s", result.Outcome, result.Message)
	}
}

// TestFailuresHaveWords checks that each failure has a text of its own.
func TestFailuresHaveWords(t *testing.T) {
	t.Parallel()
	seen := map[string]Failure{}
	for failure, words := range failureText {
		if other, twice := seen[words]; twice || words == "" {
			t.Errorf("%s and %s say the same", failure, other)
		}
		seen[words] = failure
	}
	for _, known := range complaints {
		if failureText[known.failure] == "" {
			t.Errorf("%s has no text", known.failure)
		}
	}
	for number := range errno(133) {
		if failureText[ofErrno(number)] == "" {
			t.Errorf("%v has no words", number)
		}
	}
}

// TestErrnosOfLinux checks that numbers, names and texts of errors match the Linux that runs this test.
func TestErrnosOfLinux(t *testing.T) {
	t.Parallel()
	for number, known := range errnos {
		if want := syscall.Errno(number); unix.ErrnoName(want) != known.name || want.Error() != known.text {
			t.Errorf("%d is %s (%s), not %s (%s)", number, unix.ErrnoName(want), want.Error(), known.name, known.text)
		}
	}
}

// TestErrorsHaveNames checks that all error names in our lists exist, and that messages use no other names.
func TestErrorsHaveNames(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for number := range errnos {
		found[errnoName(number)] = true
	}
	for _, name := range named {
		if !found[name] {
			t.Errorf("no error is called %s", name)
		}
	}
	for name := range errnoFailures {
		if !found[name] {
			t.Errorf("messages do not name %s", name)
		}
	}
}
