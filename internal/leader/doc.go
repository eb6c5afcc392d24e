// Package leader elects the operator that conducts the runs, and provides the epoch by which agents distinguish the
// current operator from earlier ones.
//
// A Lease alone keeps two operators from working at the same time only as long as both of them check it. An operator
// that was paused for a minute, for example because its machine froze or its node was overloaded, continues where it
// stopped, with open streams to the agents, until its next renewal fails. So every command to an agent carries an
// epoch, and an agent that has seen a higher epoch refuses the command.
//
// # The epoch
//
// A term is the time from one acquisition of the Lease to its loss. The epoch of a term is the Lease's resource version
// when it is first read in that term.
//
//	holder      A       A       A       (A is paused)       B       B
//	version     17      21      25                          31      36
//	epoch          -> 21   21                                 -> 31    31
//
// Every write to the Lease raises its resource version, and the first version that names a new holder is higher than
// every version of the previous holder's term. So a later holder always has a higher epoch, no matter when each of them
// reads the Lease. The Lease's leaseTransitions, which counts changes of the holder, does not have that property: it
// restarts at 0 if the Lease is deleted, for example with its namespace, by a cleanup script or to force an election.
// Every agent of a live run would then refuse the next leader until the run times out. A separate counter in another
// object cannot be raised atomically with a change of the Lease: an old leader could wake up between the two writes and
// have a higher counter than the new leader. Resource versions only grow, across all objects of a resource, including
// deleted ones. Kubernetes has guaranteed this to users of its API since 1.35 (KEP-5504), and derived the versions from
// the revision of etcd long before that.
//
// Resource versions decrease only if an API server is restored to an earlier state from a backup. Agents that are
// running at that time refuse every new leader until the version has caught up. Their runs fail.
//
// The epoch stays the same for a whole term although each renewal raises the version. Otherwise an agent could receive
// concurrent commands out of order and refuse the one with the lower epoch. A Lease that is created again, or that
// changes hands and comes back to the same process, begins a new term.
//
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=create,namespace=storagebench-system
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,resourceNames=storagebench-operator,verbs=get;update,namespace=storagebench-system
package leader
