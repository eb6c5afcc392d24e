// Package limits knows what storage systems and the machines that use them are documented to do, and says
// what held a measured rate back. It is pure: descriptions and figures go in, limits and suspects come out.
//
//	catalog/*.yaml --Builtin--> Catalog --Override--> Catalog
//	                            |
//	Description (driver, parameters, size, nodes, ...)
//	                            v
//	                         Compute --> Computed{Limits, Caches, Missing}
//	                                        |  At(load)      the effective limit for a block size
//	                                        |  Course(load)  how long each level lasts, and the refill
//	                                        |  Spec()        as the API writes limits
//	                                        v
//	Measured (rate, latency, CPU, credits) --> Attribute --> ranked Suspects with evidence
//
// # Limits in a row
//
// A request passes several limits, each of bytes or of operations; the least of them is the effective one:
//
//	client CPU -> instance -> flow -> server network -> [server cache] -> server disk -> volume
//
// What the cache of the server answers does not reach the disk and the volume. A limit with a burst is a token
// bucket; its arithmetic is that of package credits.
//
// # What is not known is said
//
// Nothing is guessed: a parameter, a size or a machine that is not known is a [Missing] that names the field
// to set, and limits that depend on it are left out. A figure that a vendor does not publish (the size of most
// network buckets) is absent, never zero.
package limits
