package tool

import (
	"os/exec"
	"strings"
	"testing"
)

// cut is a program that exits with 0 although its output was not read to the end.
type cut struct{ Program }

func (cut) Wait() *Exit { return &Exit{Cut: true} }
func (cut) Kill() error { return nil }

// TestAnswerThatWasCut checks that output that was not read to the end is an error, not a shorter answer.
func TestAnswerThatWasCut(t *testing.T) {
	answer, err := Ask(t.Context(), exec.Command("echo"), func(*exec.Cmd) (Program, error) { return cut{}, nil })
	if err == nil || !strings.Contains(err.Error(), "the program exited, but its output stayed open") {
		t.Errorf("answered %q, %v", answer, err)
	}
}

func TestWholeAnswer(t *testing.T) {
	if answer, err := Ask(t.Context(), exec.Command("echo", "all"), ThisMachine{}.Start); answer != "all\n" || err != nil {
		t.Errorf("answered %q, %v", answer, err)
	}
}
