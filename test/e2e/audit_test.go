package e2e

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/storagebench/storagebench/api/v1alpha1"
)

// What the operator may do is held against what it did. The API server of test/cluster writes down each request of an
// account. Each right that the operator was given has to be among the requests of the tests of this package, and none of
// them may have been refused. A right that nothing needs is taken out of the +kubebuilder:rbac markers; for one that is
// needed in a rare moment there is a test that brings the moment about.
//
// The tests run in several sittings, perhaps each on a cluster of its own. usesRecord has the last use of each right that
// a sitting saw. Unused rights are a fault only after the sitting that completes the tests.

// auditVariable is set by `make soak` for the sitting that completes the tests, to the time (RFC 3339) of the oldest
// verdict that still counts: a right must have been used since then.
const auditVariable = "E2E_AUDIT"

// usesRecord has a line for each right of the operator that was used: the right, and when it was used last.
const usesRecord = "docs/soak/rights.csv"

// right is one thing that somebody may do.
type right struct {
	verb, group, resource string
	// name is empty where it is for all names, and namespace where it is for all namespaces.
	name, namespace string
	// role is where it is from.
	role string
}

func (r right) String() string {
	text := r.verb + " " + r.resource
	if r.group != "" {
		text += "." + r.group
	}
	if r.name != "" {
		text += " " + r.name
	}
	return text + " (" + r.role + ")"
}

// invisible are rights that no request shows: the API server looks for them itself, by the admission plugin
// OwnerReferencesPermissionEnforcement, when an object is made that holds back the end of its owner. All that the
// operator makes does. TestOwnersAreHeldBackByRight shows that nothing could be made without them.
var invisible = map[string]bool{
	"update storagebenchmarks/finalizers." + v1alpha1.Group: true,
	"update benchmarkruns/finalizers." + v1alpha1.Group:     true,
}

// rightsOf are those that some rules give.
func rightsOf(role, namespace string, rules []rbacv1.PolicyRule) []right {
	var all []right
	for _, rule := range rules {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, group := range rule.APIGroups {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					for _, name := range names {
						all = append(all, right{verb: verb, group: group, resource: resource, name: name, namespace: namespace, role: role})
					}
				}
			}
		}
	}
	return all
}

// usedBy reports whether a request was made by this right, or could have been.
func (r right) usedBy(event *auditv1.Event) bool {
	asked := event.ObjectRef
	if asked == nil || decision(event) != "allow" || asked.APIGroup != r.group {
		return false
	}
	// Whoever applies an object that is not there has to have the right to create it, too.
	applied := r.verb == "create" && event.Verb == "patch" && event.ResponseStatus != nil && event.ResponseStatus.Code == http.StatusCreated
	if event.Verb != r.verb && !applied {
		return false
	}
	resource := asked.Resource
	if asked.Subresource != "" {
		resource += "/" + asked.Subresource
	}
	return resource == r.resource && (r.name == "" || r.name == asked.Name) && (r.namespace == "" || r.namespace == asked.Namespace)
}

// decision is what RBAC said, "allow" or "forbid". A quota or Pod Security refuse with 403 what RBAC allows.
func decision(event *auditv1.Event) string { return event.Annotations["authorization.k8s.io/decision"] }

// ledger is what somebody may do, and what of it was done.
type ledger struct {
	granted []right
	// used has the time of the last use of each right that was used.
	used map[right]time.Time
	// refused are requests that no right allows.
	refused  map[string]int
	requests int
}

func newLedger(granted []right) *ledger {
	return &ledger{granted: granted, used: map[right]time.Time{}, refused: map[string]int{}}
}

// see takes a request into account.
func (l *ledger) see(event *auditv1.Event) {
	l.requests++
	if decision(event) == "forbid" {
		l.refused[event.Verb+" "+event.RequestURI]++
	}
	for _, one := range l.granted {
		if at := event.StageTimestamp.Time; !at.Before(l.used[one]) && (one.usedBy(event) || one.usedBy(creation(event))) {
			l.used[one] = at
		}
	}
}

// creation is the other right that a request needs which applies what was not there: to create it, by its name. Of
// others it is the request itself.
func creation(event *auditv1.Event) *auditv1.Event {
	if event.Verb != "patch" || event.ResponseStatus == nil || event.ResponseStatus.Code != http.StatusCreated {
		return event
	}
	made := *event
	made.Verb = "create"
	return &made
}

// unused are the rights that nothing has used.
func (l *ledger) unused() []string {
	var all []string
	for _, one := range l.granted {
		bare, _, _ := strings.Cut(one.String(), " (")
		if _, used := l.used[one]; !used && !invisible[bare] {
			all = append(all, "a right that was never used: "+one.String())
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// refusals are the requests that were refused.
func (l *ledger) refusals() []string {
	var all []string
	for request, times := range l.refused {
		all = append(all, fmt.Sprintf("refused %d times, for want of a right: %s", times, request))
	}
	slices.Sort(all)
	return all
}

// problems are the rights that nothing has used, and the requests that were refused.
func (l *ledger) problems() []string { return append(l.unused(), l.refusals()...) }

// merge adds the uses since an instant that earlier sittings have recorded, and returns the record with those of this
// ledger. The record keeps no right that is not granted anymore.
func (l *ledger) merge(recorded map[string]time.Time, since time.Time) map[string]time.Time {
	merged := map[string]time.Time{}
	for _, one := range l.granted {
		at, earlier := l.used[one].Truncate(time.Second), recorded[one.String()]
		if earlier.After(at) {
			at = earlier
		}
		if at.IsZero() {
			continue
		}
		merged[one.String()] = at
		if at.Before(since) {
			delete(l.used, one)
		} else {
			l.used[one] = at
		}
	}
	return merged
}

// readUses reads the record of uses; there are none without a file.
func readUses(file string) (map[string]time.Time, error) {
	lines, err := recordLines(file)
	if err != nil || lines == nil {
		return nil, err
	}
	uses := map[string]time.Time{}
	for _, line := range lines {
		if uses[line[0]], err = time.Parse(time.RFC3339, line[1]); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return uses, nil
}

func writeUses(file string, uses map[string]time.Time) error {
	var text bytes.Buffer
	writer := csv.NewWriter(&text)
	_ = writer.Write([]string{"right", "last used"})
	for _, name := range slices.Sorted(maps.Keys(uses)) {
		_ = writer.Write([]string{name, uses[name].UTC().Format(time.RFC3339)})
	}
	writer.Flush()
	return errors.Join(writer.Error(), os.WriteFile(file, text.Bytes(), 0o644))
}

// grantedTo are the rights of a service account, by all that is bound to it.
func (in *installation) grantedTo(ctx context.Context, namespace, name string) ([]right, error) {
	isBound := func(subject rbacv1.Subject) bool {
		return subject.Kind == rbacv1.ServiceAccountKind && subject.Namespace == namespace && subject.Name == name
	}
	var all []right
	var everywhere rbacv1.ClusterRoleBindingList
	if err := in.api.List(ctx, &everywhere); err != nil {
		return nil, err
	}
	for _, binding := range everywhere.Items {
		if slices.ContainsFunc(binding.Subjects, isBound) {
			rules, err := in.rulesOf(ctx, binding.RoleRef, "")
			if err != nil {
				return nil, err
			}
			all = append(all, rightsOf("ClusterRole "+binding.RoleRef.Name, "", rules)...)
		}
	}
	var within rbacv1.RoleBindingList
	if err := in.api.List(ctx, &within); err != nil {
		return nil, err
	}
	for _, binding := range within.Items {
		if slices.ContainsFunc(binding.Subjects, isBound) {
			rules, err := in.rulesOf(ctx, binding.RoleRef, binding.Namespace)
			if err != nil {
				return nil, err
			}
			all = append(all, rightsOf(binding.RoleRef.Kind+" "+binding.RoleRef.Name+" in "+binding.Namespace, binding.Namespace, rules)...)
		}
	}
	slices.SortFunc(all, func(a, b right) int { return cmp.Compare(a.String(), b.String()) })
	return all, nil
}

func (in *installation) rulesOf(ctx context.Context, reference rbacv1.RoleRef, namespace string) ([]rbacv1.PolicyRule, error) {
	if reference.Kind == "ClusterRole" {
		var role rbacv1.ClusterRole
		err := in.api.Get(ctx, client.ObjectKey{Name: reference.Name}, &role)
		return role.Rules, err
	}
	var role rbacv1.Role
	err := in.api.Get(ctx, client.ObjectKey{Namespace: namespace, Name: reference.Name}, &role)
	return role.Rules, err
}

// audit holds what an account may do against all that it did, and what it was refused since an instant.
func (in *installation) audit(ctx context.Context, namespace, name string, since time.Time) (*ledger, error) {
	granted, err := in.grantedTo(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	if len(granted) == 0 {
		return nil, fmt.Errorf("ServiceAccount %s/%s has no rights at all", namespace, name)
	}
	made := newLedger(granted)
	err = in.State.Audit("system:serviceaccount:"+namespace+":"+name, func(event auditv1.Event) {
		if decision(&event) != "forbid" || !event.StageTimestamp.Time.Before(since) {
			made.see(&event)
		}
	})
	return made, err
}

// auditOperator is done when all tests of a sitting that began at an instant have run. If one of them failed, it only
// records which rights were used: the tests would have used others.
func auditOperator(began time.Time, failed bool) error {
	if testing.Short() || made == nil || made.api == nil || !made.Embedded {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	found, err := made.audit(ctx, operatorNamespace, operatorDeployment, began)
	if err != nil {
		return fmt.Errorf("hold the operator's rights against what it did: %w", err)
	}
	since, completes := os.LookupEnv(auditVariable)
	oldest := time.Time{}
	if completes {
		if oldest, err = time.Parse(time.RFC3339, since); err != nil {
			return fmt.Errorf("%s: %w", auditVariable, err)
		}
	}
	record := filepath.Join(made.root, usesRecord)
	recorded, err := readUses(record)
	if err != nil {
		return err
	}
	if err := writeUses(record, found.merge(recorded, oldest)); err != nil {
		return err
	}
	problems := found.refusals()
	if completes {
		problems = found.problems()
	}
	fmt.Fprintf(os.Stderr, "e2e: %d of the operator's %d rights are known to be used, %d are looked for by the API server itself; %d requests\n",
		len(found.used), len(found.granted), len(invisible), found.requests)
	if failed || len(problems) == 0 {
		return nil
	}
	return errors.New("e2e: the operator's rights are not what it needs; change the +kubebuilder:rbac markers, or add a test that needs the right:\n  " +
		strings.Join(problems, "\n  "))
}
