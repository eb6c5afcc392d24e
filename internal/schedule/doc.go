// Package schedule computes when a run of a cron schedule is due. It is pure: the time is an argument.
//
// Missed times are handled as in Kubernetes' CronJob:
//
//	last ----x-----x-----x----- now          three times were missed
//	               |     '-- the newest of them is due, once
//	               '-------- the others are skipped
//
//	with a starting deadline, times before (now - deadline) are never due
//
// When daylight saving time begins, one hour does not exist, and a time in it is not due on that day. When it ends,
// one hour occurs twice, and a time in it is due twice, an hour apart. CronJob does the same. To avoid both, choose
// UTC or a time outside these hours.
package schedule
