// Package leader decides which of several operators conducts the runs, and gives the number by which
// agents tell an operator of today from one of yesterday.
//
// A Lease alone keeps two operators from working at once only as long as both look at it. One that was
// stopped for a minute (a frozen machine, a full node) goes on where it was when it wakes up, with open
// streams to the agents, until its next renewal fails. So every command to an agent carries an
// epoch, and an agent that has seen a higher one refuses it.
//
// # What the epoch is
//
// The epoch of a term, the time from one acquisition of the Lease to its loss, is the Lease's resource
// version at the first look in that term.
//
//	holder      A       A       A       (A stands still)    B       B
//	version     17      21      25                          31      36
//	epoch          -> 21   21                                 -> 31    31
//
// Every write to the Lease raises its resource version, and whoever holds it next has written to it
// after the holder before him was last seen in it. So a later holder always has a higher epoch, whatever
// moment each of them looks at. The number of transitions, which a Lease counts too, does not have
// that property: who deletes the Lease (with the namespace, by a clean-up script, to force an election)
// sets it back to 0, and the next leader would be refused by every agent of a live run until the run
// times out. A counter of our own in another object cannot be raised in the same instant in
// which the Lease changes hands: an old leader could wake up between the two and be ahead of the new
// one. Resource versions are numbers that only grow, over all objects of a resource, those that are gone
// included: Kubernetes promises that to its clients since 1.35 (KEP-5504), and made them from the
// revision of etcd long before.
//
// What it does not hold for is an API server that is set back to an earlier state from a backup while
// agents are running: they refuse everybody until the version has caught up, and end by themselves
// after orphanTimeout.
//
// The epoch stays the same for a whole term although each renewal raises the version: two
// commands that are under way at once must not overtake each other with different epochs. When a Lease
// is made anew or changes hands and comes back to the same process, that is a new term.
//
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=create,namespace=storagebench-system
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,resourceNames=storagebench-operator,verbs=get;update,namespace=storagebench-system
package leader
