package v1alpha1

import (
	"maps"
	"slices"
)

// severities is one row of the table in the comment of WarningType.
type severities struct {
	prepare, measuring, burstDrain, others Severity
}

const (
	info          = SeverityInfo
	warning       = SeverityWarning
	disqualifying = SeverityDisqualifying
)

var severityTable = map[WarningType]severities{
	WarningStartSkew:            {info, warning, warning, info},
	WarningClockUncertain:       {info, warning, warning, info},
	WarningClientCPUThrottled:   {info, warning, warning, info},
	WarningClientCPUSaturated:   {info, warning, warning, info},
	WarningDirectIONotHonoured:  {warning, disqualifying, disqualifying, warning},
	WarningPageCacheSuspected:   {info, warning, warning, info},
	WarningServerCacheSuspected: {info, warning, warning, info},
	WarningFasterThanDocumented: {info, warning, warning, info},
	WarningHostCacheOn:          {info, warning, warning, info},
	WarningFreshVolume:          {info, warning, warning, info},
	WarningBurstBilled:          {info, warning, warning, info},
	WarningUnwrittenDataRead:    {disqualifying, disqualifying, disqualifying, disqualifying},
	WarningWrittenUnknown:       {warning, warning, warning, info},
	WarningRunTooShort:          {info, warning, warning, info},
	WarningClientLost:           {disqualifying, disqualifying, disqualifying, disqualifying},
	WarningClientReplaced:       {info, info, disqualifying, info},
	WarningClientsMissing:       {warning, warning, disqualifying, warning},
	WarningToolError:            {disqualifying, disqualifying, disqualifying, disqualifying},
	WarningNoOperations:         {disqualifying, disqualifying, disqualifying, info},
	WarningResultIncomplete:     {disqualifying, disqualifying, disqualifying, disqualifying},
	WarningNotSteady:            {info, warning, info, info},
	WarningNotAssessed:          {info, warning, info, info},
	WarningSteadyInBurst:        {info, warning, info, info},
	WarningClientsShareNode:     {info, warning, warning, info},
	WarningSharedClientNode:     {info, warning, warning, info},
	WarningWindowsDiffer:        {info, warning, warning, info},
	WarningCommonWindowTooShort: {info, disqualifying, disqualifying, info},
	WarningTooFewSamples:        {info, info, info, info},
	WarningLatencyClipped:       {info, warning, warning, info},
	WarningSubmissionBlocks:     {info, warning, warning, info},
	WarningDirtyPages:           {info, warning, warning, info},
	WarningBytesUncertain:       {info, warning, warning, info},
	WarningSamplesLost:          {info, warning, warning, info},
	WarningSweepDrift:           {info, warning, info, info},
	WarningSearchInconclusive:   {info, warning, info, info},
	WarningIOStalled:            {info, warning, warning, info},
	WarningNoDropSeen:           {info, info, warning, info},
	WarningCreditsUnknown:       {info, info, warning, info},
	WarningToolVersionsDiffer:   {warning, warning, warning, warning},
	WarningLayoutReused:         {info, info, info, info},
	WarningLayoutRenewed:        {info, info, info, info},
	WarningPatternCompresses:    {info, warning, warning, info},
	WarningCompressionNotShown:  {info, warning, warning, info},
	WarningDirectoryHeld:        {info, info, info, info},
	WarningUsageUnknown:         {info, info, info, info},
	WarningToolMessages:         {info, info, info, info},
	WarningVolumeInUse:          {info, warning, warning, info},
	WarningDataLeftBehind:       {info, info, info, info},

	WarningObservationFailed:     {warning, warning, warning, warning},
	WarningObservationIncomplete: {info, info, info, info},
}

// Severity returns the severity of the warning in a phase of that kind, by the table in the comment
// of WarningType. An unknown type is disqualifying, so that a warning without a known meaning does
// not pass as harmless.
func (t WarningType) Severity(kind PhaseKind) Severity {
	row, known := severityTable[t]
	if !known {
		return SeverityDisqualifying
	}
	switch kind {
	case PhasePrepare:
		return row.prepare
	case PhaseBurstDrain:
		return row.burstDrain
	case PhaseCooldown:
		return row.others
	default:
		return row.measuring
	}
}

// Disqualified reports whether the figures of a cell do not measure what was asked for.
func (s *StepResult) Disqualified() bool {
	return slices.ContainsFunc(s.Warnings, func(w WarningType) bool { return w.Severity(PhaseSweep) == SeverityDisqualifying })
}

// WarningTypes returns all types, sorted by name.
func WarningTypes() []WarningType {
	return slices.Sorted(maps.Keys(severityTable))
}

// NewWarning returns a warning with the severity from the table. It shortens message and clients to
// what the API accepts.
func NewWarning(t WarningType, kind PhaseKind, message string, clients ...int32) Warning {
	const maxMessage, maxClients = 512, 16
	if len(clients) > maxClients {
		clients = clients[:maxClients]
	}
	return Warning{
		Type:     t,
		Severity: t.Severity(kind),
		Message:  Truncate(message, maxMessage),
		Clients:  slices.Clone(clients),
	}
}
