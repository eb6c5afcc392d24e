// Package drive conducts one run: it observes, decides, has the facts stored, and acts, until nothing is left to do.
// Its caller decides where the clients live and where the facts are kept: see [Clients] and [Options.Store].
//
//	observe -> decide -> note the facts -> store them -> act -> wait for news
//
// A Loop acts on a fact only once the fact is stored. So a Loop can be ended at any moment, and another one, given
// the run as it was stored, goes on from there.
package drive
