package volumes

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/dataset"
	"github.com/storagebench/storagebench/internal/process"
)

// lfsTime limits the time of one lfs call, which queries the servers of the file system.
const lfsTime = 20 * time.Second

// knownStriping caches the verified striping, so that only the first step calls lfs.
type knownStriping struct {
	mu     sync.Mutex
	proven string
}

// stripe sets the Lustre striping of files that will be created in the directory, and verifies it. Existing files
// keep their striping, so a directory with files must already be striped as requested.
func (f *Files) stripe() error {
	wanted := stripingWanted(f.request.GetDataset().GetStriping())
	if wanted == (striping{}) {
		return nil
	}
	known := &f.set.striped
	known.mu.Lock()
	defer known.mu.Unlock()
	name := f.Path() + " " + wanted.String()
	if known.proven == name {
		return nil
	}
	target := f.step.Config.Target
	if found := f.Mount(); found.FilesystemType != "lustre" {
		return tool.Refuse(tool.ReasonVolume, fmt.Errorf("target %s: lustre requests striping, but the volume at %s "+
			"is %s (%s), not Lustre; remove lustre from the target, or use a claim of a Lustre volume",
			target, found.Path, found.FilesystemType, found.Source))
	}
	lfs, err := exec.LookPath("lfs")
	if err != nil {
		return tool.Refuse(tool.ReasonTool, fmt.Errorf("target %s: lustre requests striping, but this image has no "+
			"lfs; use an image with the Lustre client tools, or remove lustre from the target to keep the file "+
			"system's own striping", target))
	}
	if err := setStriping(lfs, f.Dataset, wanted); err != nil {
		return tool.Refuse(tool.ReasonVolume, fmt.Errorf("target %s: lustre requests striping: %w", target, err))
	}
	known.proven = name
	return nil
}

func setStriping(lfs string, directory *dataset.Dataset, wanted striping) error {
	empty, err := directory.Empty()
	if err != nil {
		return err
	}
	if empty {
		if _, err := runLfs(lfs, append(append([]string{"setstripe"}, wanted.arguments()...), directory.Path())...); err != nil {
			return err
		}
	}
	found, err := stripingOf(lfs, directory.Path(), wanted)
	switch {
	case err != nil:
		return fmt.Errorf("cannot read the stripe layout: %w", err)
	case found == wanted:
		return nil
	case empty:
		return fmt.Errorf("%s has a different striping after lfs setstripe: %s, want %s; request a striping that the file system allows",
			directory.Path(), found, wanted)
	}
	return fmt.Errorf("%s contains files of an earlier run with a different striping: %s, want %s. Files keep their "+
		"striping; remove the directory, or request its current striping", directory.Path(), found, wanted)
}

// striping is the stripe count and stripe size of a directory, in lfs notation. A field is empty if its value was not
// requested.
type striping struct{ count, size string }

func stripingWanted(wanted *agentapi.Striping) striping {
	var s striping
	if wanted.GetCount() != 0 {
		s.count = strconv.Itoa(int(wanted.GetCount()))
	}
	if wanted.GetSizeBytes() != 0 {
		s.size = strconv.FormatUint(wanted.GetSizeBytes(), 10)
	}
	return s
}

func (s striping) arguments() []string {
	var all []string
	if s.count != "" {
		all = append(all, "-c", s.count)
	}
	if s.size != "" {
		all = append(all, "-S", s.size)
	}
	return all
}

func (s striping) String() string {
	var parts []string
	if s.count != "" {
		parts = append(parts, "stripe count "+s.count)
	}
	if s.size != "" {
		parts = append(parts, "stripe size "+s.size)
	}
	return strings.Join(parts, ", ")
}

// stripingOf reads only the requested fields. It calls lfs once per field, because lfs then prints only that value.
func stripingOf(lfs, path string, wanted striping) (striping, error) {
	var found striping
	for _, figure := range []struct {
		flag, wanted string
		found        *string
	}{{"-c", wanted.count, &found.count}, {"-S", wanted.size, &found.size}} {
		if figure.wanted == "" {
			continue
		}
		output, err := runLfs(lfs, "getstripe", "-d", figure.flag, path)
		if err != nil {
			return striping{}, err
		}
		// Do not check the format of the output. Unexpected output differs from the requested value, and the caller
		// reports any difference.
		*figure.found = strings.ToValidUTF8(strings.Join(strings.Fields(output), " "), "?")
	}
	return found, nil
}

// runLfs returns the output of lfs. Its error contains lfs's messages.
func runLfs(lfs string, arguments ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), lfsTime)
	defer cancel()
	output, messages := &tool.Tail{Limit: tool.MaxAnswerBytes}, &tool.Tail{Limit: 2 * tool.MaxAnswerBytes}
	command := exec.CommandContext(ctx, lfs, arguments...)
	command.Env = tool.BareEnvironment()
	command.Stdout, command.Stderr = output, messages
	command.WaitDelay = lfsTime / 4
	handle, err := process.Start(command)
	if err == nil {
		stop := context.AfterFunc(ctx, func() { _ = handle.Kill() })
		defer stop()
		err = handle.Wait()
		_ = handle.Kill()
	}
	if ctx.Err() != nil {
		err = errors.New("no answer within " + lfsTime.String())
	}
	if err != nil {
		words := strings.Join(strings.Fields(messages.String()+" "+output.String()), " ")
		return "", fmt.Errorf("%s %s failed: %w: %s",
			lfs, strings.Join(arguments, " "), err, strings.ToValidUTF8(words, "?"))
	}
	return output.String(), nil
}
