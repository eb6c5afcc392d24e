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

// The audit compares the rights of the operator with its requests, which the API server of test/cluster records per
// account. The tests of this package must use each right at least once, and no request may be refused. Remove a right
// that nothing needs from the +kubebuilder:rbac markers. If a right is needed only in a rare situation, add a test that
// creates the situation.
//
// The tests run in several sittings, possibly on different clusters. usesRecord holds the last use of each right in any
// of them. Unused rights are an error only after the sitting that completes the tests.

// auditVariable is set by `make soak` for the sitting that completes the tests. Its value is a time (RFC 3339): uses of
// a right before it do not count.
const auditVariable = "E2E_AUDIT"

// usesRecord has a line for each right that the operator used, with the time of its last use.
const usesRecord = "docs/soak/rights.csv"

// right is a permission to do one thing.
type right struct {
	verb, group, resource string
	// name is empty if the right covers all names, and namespace if it covers all namespaces.
	name, namespace string
	// role is the role that grants the right.
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

// invisible are rights that no request shows. The API server checks them in the admission plugin
// OwnerReferencesPermissionEnforcement when an object is created that blocks the deletion of its owner, as all objects
// of the operator do. TestOwnersAreHeldBackByRight shows that they are needed.
var invisible = map[string]bool{
	"update storagebenchmarks/finalizers." + v1alpha1.Group: true,
	"update benchmarkruns/finalizers." + v1alpha1.Group:     true,
}

// rightsOf returns the rights that rules grant.
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

// usedBy reports whether a request used this right, or could have.
func (r right) usedBy(event *auditv1.Event) bool {
	asked := event.ObjectRef
	if asked == nil || decision(event) != "allow" || asked.APIGroup != r.group {
		return false
	}
	// Applying an object that does not exist also needs the right to create it.
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

// decision returns RBAC's decision, "allow" or "forbid". A 403 alone may come from a quota or from Pod Security.
func decision(event *auditv1.Event) string { return event.Annotations["authorization.k8s.io/decision"] }

// ledger compares the rights of an account with their use.
type ledger struct {
	granted []right
	// used has the time of the last use of each right that was used.
	used map[right]time.Time
	// refused counts the requests that no right allows.
	refused  map[string]int
	requests int
}

func newLedger(granted []right) *ledger {
	return &ledger{granted: granted, used: map[right]time.Time{}, refused: map[string]int{}}
}

// see records a request.
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

// creation returns the create request that is implied by applying an object that does not exist. It returns other
// requests unchanged.
func creation(event *auditv1.Event) *auditv1.Event {
	if event.Verb != "patch" || event.ResponseStatus == nil || event.ResponseStatus.Code != http.StatusCreated {
		return event
	}
	made := *event
	made.Verb = "create"
	return &made
}

// unused returns the rights that no request used.
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

// refusals returns the requests that were refused.
func (l *ledger) refusals() []string {
	var all []string
	for request, times := range l.refused {
		all = append(all, fmt.Sprintf("refused %d times, for want of a right: %s", times, request))
	}
	slices.Sort(all)
	return all
}

// problems returns the unused rights and the refused requests.
func (l *ledger) problems() []string { return append(l.unused(), l.refusals()...) }

// merge adds the uses after since that earlier sittings recorded. It returns the record with the uses of this ledger,
// without rights that are no longer granted.
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

// readUses reads the record of uses. Without a file it returns none.
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

// grantedTo returns the rights of a service account from all roles that are bound to it.
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

// audit compares an account's rights with all of its requests. Refusals count only from an instant on.
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

// auditOperator runs after all tests of a sitting. If one of them failed, it records the used rights but reports no
// problems, because the failed test would have used more.
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
