// Package schedule computes when a cron schedule starts runs. Its functions do not read the clock: the current time is
// an argument.
//
// Missed times are handled as in Kubernetes' CronJob:
//
//	last ----x-----x-----x----- now          three times were missed
//	               |     '-- the newest of them is due, once
//	               '-------- the others are skipped
//
//	with a starting deadline, times before (now - deadline) are never due
//
// When daylight saving time begins, one hour does not exist, and a schedule for a time in this hour starts no run on
// that day. When daylight saving time ends, one hour occurs twice, and such a schedule starts two runs, an hour apart.
// CronJob does the same. To avoid both cases, choose UTC or a time outside these hours.
package schedule
