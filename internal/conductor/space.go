package conductor

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"time"

	"github.com/storagebench/storagebench/internal/agentapi"
	"github.com/storagebench/storagebench/internal/phasekind"
	"github.com/storagebench/storagebench/internal/plan"
	"github.com/storagebench/storagebench/internal/result"
)

// usagePatience limits how long an agent waits after a step for the file system to update the disk usage. Some file
// systems update it late. In phases with many steps on the same files, agents do not wait.
const usagePatience = 8 * time.Second

// askForSpace makes the agents measure the disk usage of the files after a step that writes. It also sets the step's
// Lustre striping in the load request.
func askForSpace(request *agentapi.LoadRequest, step plan.Step, target string) {
	dataset := request.GetDataset()
	if dataset.GetContent() != "" || dataset.GetMeasureUsage() {
		dataset.MeasureUsage = true
		if !phasekind.Of(step.Kind).ManySteps() {
			dataset.UsagePatienceNanoseconds = int64(usagePatience)
		}
	}
	if striping, requested := step.Striping[target]; requested {
		dataset.Striping = &agentapi.Striping{Count: striping.Count, SizeBytes: striping.SizeBytes}
	}
}

// Limits for the disk usage that an agent reports.
const (
	maxUsageTypes = 16
	maxUsageName  = 64
)

var (
	plainType      = regexp.MustCompile(`^([a-z0-9_-]{1,16}|[*])?$`)
	errUsageOfMany = fmt.Errorf("the agent reports the disk usage of more than %d file types", maxUsageTypes)
	errUsage       = errors.New("reported disk usage is implausible")
)

// usageOf checks and converts the disk usage that an agent reports.
func usageOf(reported *agentapi.Usage) (*result.Usage, error) {
	if reported == nil {
		return nil, nil //nolint:nilnil // The disk usage was not requested.
	}
	if len(reported.GetTypes()) > maxUsageTypes {
		return nil, errUsageOfMany
	}
	usage := &result.Usage{
		Space:      spaceOf(reported),
		HolesKnown: reported.GetHolesKnown(), Settled: reported.GetSettled(),
		FileSystem:  clean(reported.GetFilesystemType(), maxUsageName),
		Compression: clean(reported.GetCompression(), maxUsageName),
	}
	var sum result.Space
	for _, of := range reported.GetTypes() {
		space := spaceOf(of)
		if !plainType.MatchString(of.GetExtension()) || !space.Possible() {
			return nil, errUsage
		}
		sum.Add(space)
		usage.Types = append(usage.Types, result.TypeUsage{Extension: of.GetExtension(), Space: space})
	}
	if !usage.Possible() || sum != usage.Space {
		return nil, errUsage
	}
	return usage, nil
}

// usageMessage is implemented by all messages that report disk usage.
type usageMessage interface {
	GetFiles() uint64
	GetApparentBytes() uint64
	GetAllocatedBytes() uint64
	GetDataBytes() uint64
}

func spaceOf(reported usageMessage) result.Space {
	// Limit each value to MaxInt64, so that sums do not overflow. Space.Possible then rejects the value as implausible.
	bound := func(bytes uint64) uint64 { return min(bytes, math.MaxInt64) }
	return result.Space{Files: bound(reported.GetFiles()), ApparentBytes: bound(reported.GetApparentBytes()),
		AllocatedBytes: bound(reported.GetAllocatedBytes()), DataBytes: bound(reported.GetDataBytes())}
}
