package mpi

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/storagebench/storagebench/internal/agent/tool"
	"github.com/storagebench/storagebench/internal/agent/volumes"
	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/measure"
)

// scratchPattern is the os.MkdirTemp pattern of the directories for MPI's temporary files.
const scratchPattern = "storagebench-mpi-"

// part holds the state that launchers and members have in common, such as the working directory and the ranks to
// measure.
type part struct {
	*Tool

	step *tool.Step
	load *agentapi.MpiTool
	// files are the step's files. They are in the client's own directory, or in client 0's directory, which a member opens
	// when the job is launched.
	files *volumes.Files
	// scratch is the part's own temporary directory; close removes it.
	scratch string
	// ranks is the minimum number of ranks among the descendants of this client's MPI process. There may be more, because
	// a member does not know which other clients share its address.
	ranks   int
	samples *rankSamples
	running *mpiProcess
	stderr  *tool.Tail
	cpu     tool.CPUMeter
	// left names processes that could not be killed.
	left error
}

// Load implements tool.Tool.
func (t *Tool) Load(step *tool.Step) (tool.Load, error) {
	load := step.Request.GetMpi()
	if err := t.check(load); err != nil {
		return nil, err
	}
	p := &part{Tool: t, step: step, load: load, stderr: &tool.Tail{Limit: tool.MessageBytes},
		samples: newRankSamples(step, load)}
	if err := p.open(); err != nil {
		p.close()
		return nil, err
	}
	if t.env.Config.Client != LauncherClient {
		return newMember(p), nil
	}
	launcher, err := newLauncher(p)
	if err != nil {
		p.close()
		return nil, err
	}
	return launcher, nil
}

func newRankSamples(step *tool.Step, load *agentapi.MpiTool) *rankSamples {
	samples := &rankSamples{
		warmUp:   time.Duration(load.GetWarmUpNanoseconds()),
		duration: time.Duration(load.GetDurationNanoseconds()),
		interval: time.Duration(load.GetSampleIntervalNanoseconds()),
		transfer: load.GetTransferBytes(),
		write:    step.Sample,
	}
	if samples.interval <= 0 {
		samples.interval = time.Second
	}
	for _, operation := range load.GetOperations() {
		samples.operations = append(samples.operations, measure.Operation(operation))
	}
	return samples
}

// check returns an error if the job is invalid or if required tools are missing.
func (t *Tool) check(load *agentapi.MpiTool) error {
	if !slices.Contains(rankPrograms, load.GetProgram()) {
		return status.Errorf(codes.InvalidArgument, "the step's program is %q, expected one of %v",
			load.GetProgram(), rankPrograms)
	}
	for _, operation := range load.GetOperations() {
		if operation >= measure.NumOperations {
			return status.Errorf(codes.InvalidArgument, "the step has unknown operation %d, want less than %d",
				operation, measure.NumOperations)
		}
	}
	if load.GetProcessesPerClient() < 1 || !slices.ContainsFunc(load.GetClients(), func(c *agentapi.MpiClient) bool {
		return int(c.GetClient()) == t.env.Config.Client
	}) {
		return status.Errorf(codes.InvalidArgument, "the step needs at least 1 process per client and must include this client: "+
			"it has %d processes per client and the clients %v, and this is client %d",
			load.GetProcessesPerClient(), load.GetClients(), t.env.Config.Client)
	}
	if _, err := t.find(load.GetProgram()); err != nil {
		return tool.Refuse(tool.ReasonTool, errors.New(missingTool(load.GetProgram(), err)))
	}
	if t.env.Config.Client == LauncherClient {
		return nil
	}
	_, errOld := t.find(daemons[0])
	_, errNew := t.find(daemons[1])
	if errOld != nil && errNew != nil {
		return tool.Refuse(tool.ReasonTool, errors.New(missingTool("the daemon of Open MPI, orted or prted,", errOld)))
	}
	return nil
}

// open checks the volume and opens the directory in which this client's ranks work. If all clients work in client 0's
// directory, the other clients open it later (openShared), and only client 0 checks the files and the space.
func (p *part) open() (err error) {
	// In a shared directory, only client 0 measures the disk usage, so that the files are counted once.
	joins := p.load.GetShared() && p.env.Config.Client != LauncherClient
	use := volumes.Use{Direct: p.load.GetDirect(), NoUsage: joins}
	volume, err := p.volumes.Named(p.step.Request.GetVolume())
	switch {
	case joins:
		p.files, err = p.volumes.OpenMount(p.step, use)
	case err == nil && volume.ReadOnly:
		err = tool.Refuse(tool.ReasonReadOnly, fmt.Errorf("volume %s is mounted read-only, but MPI jobs "+
			"create a directory for their data; use fio, or a claim that is mounted read-write", volume.Name))
	default:
		if p.files, err = p.volumes.Open(p.step, use); err == nil {
			_, err = p.files.Layout()
		}
	}
	if err != nil {
		return err
	}
	if p.scratch, err = os.MkdirTemp("", scratchPattern); err == nil {
		p.scratch, err = filepath.Abs(p.scratch)
	}
	if err != nil {
		return tool.Refuse(tool.ReasonTool, fmt.Errorf("make a scratch directory for MPI: %w", err))
	}
	return nil
}

// openShared opens client 0's directory on the shared volume. Client 0 has created the directory before launching the
// job.
func (p *part) openShared() error {
	if err := p.files.OpenDirectoryOf(LauncherClient); err != nil {
		return fmt.Errorf("open the directory of client 0, in which all clients work: %w; check that all clients mount the same volume",
			err)
	}
	return nil
}

// rankWhere returns the environment variables with which ranks find and verify their directory.
func (p *part) rankWhere() ([]string, error) {
	path := p.files.Path()
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !p.files.Is(info) {
		return nil, p.files.Changed("")
	}
	return []string{rankDirectory + "=" + path, rankDevice + "=" + directoryID(info)}, nil
}

// close releases the part's resources.
func (p *part) close() {
	if p.files != nil {
		p.files.Close()
	}
	if p.scratch != "" {
		_ = os.RemoveAll(p.scratch)
	}
}

// leave examines the step's files if their directory was opened, and releases the part's resources.
func (p *part) leave(ended *agentapi.Ended, hung bool) {
	if p.files.Dataset != nil {
		p.files.Inspect(ended, volumes.WroteUnknown, hung || p.left != nil)
	}
	p.close()
}

// begin records the start of the step on this client.
func (p *part) begin() {
	p.cpu.Begin(p.step.Clock)
	p.step.Started()
}

// clear kills leftover processes of the part.
func (p *part) clear() {
	if p.running != nil {
		p.left = p.running.clear(p.step.Timeouts.Stop)
	}
}

// covered reports whether a time-bound step has been measured for its whole duration on this client. If so, the step is
// complete even if IOR's remaining work, such as flushing its files, exceeds the deadline. Call covered after clear.
func (p *part) covered() bool {
	return p.load.GetDurationNanoseconds() > 0 && p.left == nil && (p.running == nil || p.samples.full())
}

// gather adds the measurements of this client's ranks to a result. Call it after clear: by then all ranks have
// exited, or p.left names the ranks that have not.
func (p *part) gather(ended *agentapi.Ended) {
	if p.running == nil {
		ended.Cpu = p.cpu.End(p.step.Clock, nil)
		return
	}
	ended.Cpu = p.running.cpu(&p.cpu)
	if p.left != nil {
		tool.Fail(ended, tool.ReasonHung, "%s; %s", cmp.Or(ended.GetMessage(), "the MPI job was terminated"), p.left)
		return
	}
	operations, err := p.samples.results()
	if err != nil {
		tool.Fail(ended, tool.ReasonInvalid, "%s", err)
		return
	}
	ended.Operations = operations
	ended.IoStartNanoseconds, ended.IoEndNanoseconds = p.samples.ioStart, p.samples.ioEnd
	if ended.GetIoStartNanoseconds() == 0 && p.load.GetProgram() == "mdtest" && p.running.firstRank != 0 {
		// mdtest may transfer no data. In that case, use the times at which its ranks were first and last seen as the
		// start and the end of the I/O.
		ended.IoStartNanoseconds, ended.IoEndNanoseconds = p.running.firstRank, p.running.lastRank
	}
	if seen := p.running.meter.seen(); seen < p.ranks && ended.GetOutcome() == agentapi.Outcome_OUTCOME_COMPLETE {
		tool.Warn(ended, "SamplesLost", "only %d of this client's %d ranks were found", seen, p.ranks)
	}
}
