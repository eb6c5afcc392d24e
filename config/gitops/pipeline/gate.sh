#!/bin/sh
# Runs a StorageBenchmark again and reports its verdict, for a pipeline:
#
#   gate.sh NAME [NAMESPACE [TIMEOUT]]     such as: gate.sh fsx-windows storage-tests 6h
#
# Exit codes are those of `kubectl storagebench run`: 0 passed; 1 it could not be run, or was preempted or replaced; 2 an
# objective was missed or there is a regression; 3 the result is not valid. Needs get, list, watch and patch on
# storagebenchmarks.
set -eu
name=$1 namespace=${2:-default} timeout=${3:-1h}
benchmark=storagebenchmarks.storagebench.dev/$name
get() { kubectl --namespace "$namespace" get "$benchmark" --output "jsonpath=$1"; }

before=$(get '{.status.lastRun.name}')
# A new value requests another run.
request=$(date -u +%Y-%m-%dT%H:%M:%SZ)-$$
kubectl --namespace "$namespace" annotate "$benchmark" "storagebench.dev/requested-at=$request" --overwrite >&2 || exit 1
# The write that echoes the request also names the run. A short run may have been evaluated already.
run=$(kubectl --namespace "$namespace" wait "$benchmark" "--for=jsonpath={.status.lastHandledRequest}=$request" "--timeout=$timeout" \
  --output 'jsonpath={.status.activeRun.name}') || {
  get '{.status.conditions[?(@.type=="Ready")].message}{"\n"}' >&2
  exit 1
}
[ -n "$run" ] || run=$(get '{.status.lastRun.name}')
unjudged() {
  echo "$1 has no verdict: it was preempted (the operator starts another one), or stopped for the next run (concurrencyPolicy: Replace)" >&2
  exit 1
}
[ "$run" != "$before" ] || unjudged "the requested run"
echo "waiting for the verdict on run $run" >&2

# A run that is preempted or replaced never gets a verdict, so wait for either, until the timeout.
kubectl --namespace "$namespace" wait "$benchmark" "--for=jsonpath={.status.lastRun.name}=$run" "--timeout=$timeout" >/dev/null &
judged=$!
kubectl --namespace "$namespace" wait "$benchmark" "--for=jsonpath={.status.lastReplacedRun}=$run" "--timeout=$timeout" >/dev/null 2>&1 &
lost=$!
trap 'kill "$judged" "$lost" 2>/dev/null || :' EXIT
trap 'exit 1' INT TERM
while kill -0 "$judged" 2>/dev/null && kill -0 "$lost" 2>/dev/null; do
  sleep 1
done
if kill -0 "$judged" 2>/dev/null; then
  wait "$lost" && unjudged "run $run"
  exit 1
fi
wait "$judged" || exit 1

get '{range .status.headlines[?(@.bytesPerSecond)]}{.phase}{"\t"}{.target}{"\t"}{.operation}{"\t"}{.bytesPerSecond}{" B/s\n"}{end}'
get '{range .status.objectives[*]}{.verdict}{"\t"}{.name}{"\t"}{.message}{"\n"}{end}'
get '{range .status.regression.figures[*]}{.verdict}{"\t"}{.figure}{"\t"}{.changePermille}{" permille\n"}{end}'
get '{.status.lastRun.reason}{": "}{.status.lastRun.message}{"\n"}'
case $(get '{.status.lastRun.reason}') in
Passed) exit 0 ;;
ObjectiveMissed | Regressed) exit 2 ;;
RunInvalid) exit 3 ;;
esac
exit 1
