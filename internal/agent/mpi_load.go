package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/dataset"
	"github.com/storagebench/storagebench/internal/measure"
)

// scratchPattern is the os.MkdirTemp pattern of the directories for MPI's temporary files.
const scratchPattern = "storagebench-mpi-"

// mpiPart is the common part of a job's launcher and its members: a working directory, and ranks to measure.
type mpiPart struct {
	step *step
	tool *agentapi.MpiTool
	// mount is the mount of the step's files. directory is the client's own directory if it has one, else client
	// 0's, once that exists; working is its path.
	mount     dataset.Mount
	directory *dataset.Dataset
	working   string
	// scratch is our own temporary directory; it is removed with the part.
	scratch string
	// ranks is the minimum number of ranks below our MPI process. There may be more: a member does not know which
	// clients share its address.
	ranks   int
	samples *rankSamples
	running *mpiProcess
	stderr  *tail
	cpu     cpuMeter
	// left names processes that could not be killed.
	left error
}

// loadMPI makes all checks for a part of a job. On an error it releases everything.
func (s *step) loadMPI() error {
	tool := s.request.GetMpi()
	if err := s.checkMPI(tool); err != nil {
		return err
	}
	part := &mpiPart{step: s, tool: tool, stderr: &tail{limit: stderrBytes}, samples: newRankSamples(s, tool)}
	if err := part.open(); err != nil {
		part.close()
		return err
	}
	var err error
	if s.agent.config.Client == launcherClient {
		s.tool, err = newLauncher(part)
	} else {
		s.tool = newMember(part)
	}
	if err != nil {
		s.tool = nil
		part.close()
		return err
	}
	return nil
}

func newRankSamples(s *step, tool *agentapi.MpiTool) *rankSamples {
	samples := &rankSamples{
		warmUp:   time.Duration(tool.GetWarmUpNanoseconds()),
		duration: time.Duration(tool.GetDurationNanoseconds()),
		interval: time.Duration(tool.GetSampleIntervalNanoseconds()),
		transfer: tool.GetTransferBytes(),
		write: func(sample *agentapi.Sample) {
			s.write(&agentapi.Record{Entry: &agentapi.Record_Sample{Sample: sample}})
		},
	}
	if samples.interval <= 0 {
		samples.interval = time.Second
	}
	for _, operation := range tool.GetOperations() {
		samples.operations = append(samples.operations, measure.Operation(operation))
	}
	return samples
}

// checkMPI refuses an invalid job, and a job with missing tools.
func (s *step) checkMPI(tool *agentapi.MpiTool) error {
	a := s.agent
	if !slices.Contains(mpiPrograms, tool.GetProgram()) {
		return status.Errorf(codes.InvalidArgument, "the step's program is %q, want one of %v", tool.GetProgram(), mpiPrograms)
	}
	for _, operation := range tool.GetOperations() {
		if operation >= measure.NumOperations {
			return status.Errorf(codes.InvalidArgument, "the step has operation %d, and there are %d", operation, measure.NumOperations)
		}
	}
	if tool.GetProcessesPerClient() < 1 || !slices.ContainsFunc(tool.GetClients(), func(c *agentapi.MpiClient) bool {
		return int(c.GetClient()) == a.config.Client
	}) {
		return status.Errorf(codes.InvalidArgument, "the step has %d processes a client, and its clients are %v: this is client %d",
			tool.GetProcessesPerClient(), tool.GetClients(), a.config.Client)
	}
	if _, err := a.find(tool.GetProgram()); err != nil {
		return refuse(ReasonTool, errors.New(missingTool(tool.GetProgram(), err)))
	}
	if a.config.Client == launcherClient {
		return nil
	}
	_, errOld := a.find(daemons[0])
	_, errNew := a.find(daemons[1])
	if errOld != nil && errNew != nil {
		return refuse(ReasonTool, errors.New(missingTool("the daemon of Open MPI, orted or prted,", errOld)))
	}
	return nil
}

// open checks the volume and opens the directory in which this client's ranks work. If all clients work in client
// 0's directory, the other clients open it later (openShared), and only client 0 checks files and space.
func (p *mpiPart) open() error {
	s := p.step
	if s.agent.config.Client == launcherClient || !p.tool.GetShared() {
		working, err := s.prepareDirectory()
		if err != nil {
			return err
		}
		p.mount, p.directory, p.working = working.mount, working.dataset, working.dataset.Path()
		if _, err := s.layout(p.directory); err != nil {
			return err
		}
	} else {
		volume, err := s.agent.volume(s.request.GetVolume())
		if err != nil {
			return status.Error(codes.InvalidArgument, err.Error())
		}
		if p.mount, err = volume.place().Make(); err != nil {
			return refuse(reasonOf(err), volume.advise(err))
		}
	}
	scratch, err := os.MkdirTemp("", scratchPattern)
	if err == nil {
		scratch, err = filepath.Abs(scratch)
	}
	if err != nil {
		return refuse(ReasonTool, fmt.Errorf("make a directory for what MPI keeps while it runs: %w", err))
	}
	p.scratch = scratch
	return nil
}

// openShared opens client 0's directory on the shared volume. Client 0 creates it before it launches the job.
func (p *mpiPart) openShared() error {
	if p.directory != nil {
		return nil
	}
	directory, err := dataset.Open(p.mount, p.step.agent.location(launcherClient))
	if err != nil {
		return fmt.Errorf("open the directory of client 0, in which all clients work: %w; is the volume really shared?", err)
	}
	p.directory, p.working = directory, directory.Path()
	return nil
}

// rankWhere returns the environment variables by which ranks find and verify their directory.
func (p *mpiPart) rankWhere() ([]string, error) {
	info, err := os.Stat(p.working)
	if err != nil {
		return nil, err
	}
	if !p.directory.Is(info) {
		return nil, &dataset.Problem{Reason: dataset.ErrChanged, Path: p.working, Remedy: "look what was mounted there meanwhile, and start a new run"}
	}
	return []string{rankDirectory + "=" + p.working, rankDevice + "=" + directoryID(info)}, nil
}

// close releases the part's resources.
func (p *mpiPart) close() {
	if p.directory != nil {
		_ = p.directory.Close()
	}
	if p.scratch != "" {
		_ = os.RemoveAll(p.scratch)
	}
}

// leave examines the files if the part opened their directory, and releases the part's resources.
func (p *mpiPart) leave(ended *agentapi.Ended, hung bool) {
	if p.directory != nil {
		p.step.inspect(ended, p.directory, witnessNone, hung || p.left != nil)
		p.directory = nil
	}
	p.close()
}

// begin records the start of the step on this client.
func (p *mpiPart) begin() {
	p.cpu.begin(p.step.agent.clock)
	p.step.write(&agentapi.Record{Entry: &agentapi.Record_Started{
		Started: &agentapi.Started{ReleasedNanoseconds: p.step.agent.clock.Monotonic()}}})
}

// exitedEarly returns nil, because a part has no process before its start.
func (p *mpiPart) exitedEarly() <-chan struct{} { return nil }

func (p *mpiPart) concludeEarly() *agentapi.Ended { return nil }

// clear kills leftover processes of the part.
func (p *mpiPart) clear() {
	if p.running == nil {
		return
	}
	p.left = p.running.clear(p.step.agent.timeouts.stop)
}

// gather adds the measurements of this client's ranks to a result. By then all ranks have exited, or p.left names
// those that have not.
func (p *mpiPart) gather(ended *agentapi.Ended) {
	if p.running == nil {
		ended.Cpu = p.cpu.end(p.step.agent.clock, nil)
		return
	}
	ended.Cpu = p.running.cpu(&p.cpu)
	if p.left != nil {
		ended.Outcome, ended.Reason = agentapi.Outcome_OUTCOME_FAILED, reasonHung
		ended.Message = firstOf(ended.GetMessage(), "the job of MPI was ended") + "; " + p.left.Error()
		return
	}
	operations, err := p.samples.results()
	if err != nil {
		ended.Outcome, ended.Reason, ended.Message = agentapi.Outcome_OUTCOME_FAILED, reasonInvalid, err.Error()
		return
	}
	ended.Operations = operations
	ended.IoStartNanoseconds, ended.IoEndNanoseconds = p.samples.ioStart, p.samples.ioEnd
	if ended.GetIoStartNanoseconds() == 0 && p.tool.GetProgram() == "mdtest" && p.running.firstRank != 0 {
		// mdtest may transfer no data at all; then only the run time of its ranks is known.
		ended.IoStartNanoseconds, ended.IoEndNanoseconds = p.running.firstRank, p.running.lastRank
	}
	if seen := p.running.meter.seen(); seen < p.ranks && ended.GetOutcome() == agentapi.Outcome_OUTCOME_COMPLETE {
		ended.Notices = append(ended.Notices, &agentapi.Notice{Warning: "SamplesLost", Message: fmt.Sprintf(
			"%d ranks were seen on this client of %d that it should have had", seen, p.ranks)})
	}
}

// version returns the cached version of a tool; empty if it was not read yet.
func (p *mpiPart) version(name string) string {
	known := &p.step.agent.mpi
	known.mu.Lock()
	defer known.mu.Unlock()
	return known.tools[name].GetVersion()
}
