// Package limits holds the documented limits of storage systems and of the machines that use them, and ranks the causes
// that may have held a measured rate back. It has no side effects: it computes limits from descriptions, and suspects
// from measured figures.
//
//	catalog/*.yaml --Builtin--> Catalog --Override--> Catalog
//	                            |
//	Description (driver, parameters, size, nodes, ...)
//	                            v
//	                         Compute --> Computed{Limits, Cache, Missing}
//	                                        |  At(load)                the effective limit for a block size
//	                                        |  ThrottleTimeline(load)  how long each level lasts, and the refill
//	                                        |  Rates(load, dimension)  the limits as a single token bucket
//	                                        v
//	Measured (rate, latency, CPU, credits) --> Attribute --> ranked Suspects with evidence
//
// # Limits in series
//
// A request passes through several limits, each in bytes or in operations. The lowest one is the effective limit:
//
//	client CPU -> instance -> flow -> server network -> [server cache] -> server disk -> volume
//
// Requests that the server's cache serves do not reach the disk and the volume. A limit with a burst is a token bucket,
// computed by package credits.
//
// # Unknown values are reported
//
// Nothing is guessed: an unknown parameter, size or machine is a [Missing] that names the field to set, and limits that
// depend on it are left out. A figure that a vendor does not publish (the size of most network buckets) is absent,
// never zero.
package limits
