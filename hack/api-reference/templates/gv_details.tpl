{{- define "gvDetails" -}}
{{- $gv := . -}}

## {{ $gv.GroupVersionString }}

{{ $gv.Doc }}

### How to read it

What you write is [StorageBenchmarkSpec](#storagebenchmarkspec); what a run does is its `run`, a [RunSpec](#runspec): targets, clients,
a workload and phases. What comes out is [BenchmarkRunStatus](#benchmarkrunstatus). Types are in order of their names.

| in a spec | is | examples |
| --- | --- | --- |
| [Duration](#duration) | a time with its unit | `90s`, `15m`, `1h30m`, `250ms` |
| Quantity of bytes | `Ki`, `Mi`, `Gi` are powers of 2; `k`, `M`, `G` of 10 | `64Ki`, `8Gi`; `260M` a second |
| Quantity of operations | a number, `k` is 1000 | `20k` |
| a list of choices | one of the words, as they are written | `Sequential` |

| end of a name in a status | unit |
| --- | --- |
| `Bytes`, `bytesPerSecond` | bytes, bytes a second; MB is 10^6 of them |
| `Nanoseconds` | 10^-9 seconds |
| `Milli` | thousandths: `iopsMilli: 20409593` are 20,409.593 operations a second |
| `Permille`, `PPM` | thousandths and millionths of the whole |
| `Percent` | hundredths |

A field of a status that is absent is not known; it is never a zero. In the tables "Default" is what the API server fills in, and "Bounds" is what it
refuses. An example of a whole file is every [sample](../README.md#samples).

Beside what is listed here the API server checks rules that span several
fields, each with a message of its own. `kubectl storagebench plan -f FILE`
checks the same rules without a cluster.

{{- if $gv.Kinds  }}

### Kinds
{{ range $gv.SortedKinds }}
- {{ $gv.TypeForKind . | markdownRenderTypeLink }}
{{- end }}
{{ end }}

### Types
{{ range $gv.SortedTypes }}
{{ template "type" . }}
{{ end }}

{{- end -}}
