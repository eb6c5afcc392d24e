// Package schedule tells when a run of a cron line is due. It is pure: the time comes as an argument.
//
// Missed times are handled as the CronJob of Kubernetes does it:
//
//	last ----x-----x-----x----- now          three times were missed
//	               |     '-- the newest of them is due, once
//	               '-------- the others are skipped for good
//
//	with a starting deadline nothing before (now - deadline) is looked at, so a time that is older
//	is not due at all
//
// A change to summer time skips the hour that does not exist: a time in it is not due on that day. In the
// hour that comes twice a time is due twice, an hour apart. Both are CronJob's ways; choose a time outside
// of these hours, or UTC.
package schedule
