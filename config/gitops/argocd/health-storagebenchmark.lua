-- The health of a StorageBenchmark, as kstatus computes it (docs/gitops.md).
local hs = {status = "Progressing", message = "the operator has not seen it yet"}
local status = obj.status
if status == nil or status.observedGeneration == nil or status.observedGeneration ~= obj.metadata.generation then
  return hs
end
local found = {}
for _, condition in ipairs(status.conditions or {}) do
  found[condition.type] = condition
end
if found.Stalled ~= nil and found.Stalled.status == "True" then
  hs.status = "Degraded"
  hs.message = found.Stalled.reason .. ": " .. (found.Stalled.message or "")
elseif found.Reconciling ~= nil and found.Reconciling.status == "True" then
  hs.message = found.Reconciling.reason .. ": " .. (found.Reconciling.message or "")
elseif found.Ready ~= nil then
  hs.message = found.Ready.reason .. ": " .. (found.Ready.message or "")
  if found.Ready.status == "True" then
    hs.status = "Healthy"
  end
end
return hs
