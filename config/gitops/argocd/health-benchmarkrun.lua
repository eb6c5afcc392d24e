-- The health of a BenchmarkRun, which Argo CD shows below its StorageBenchmark.
local hs = {status = "Progressing", message = ""}
local status = obj.status
if status == nil then
  return hs
end
local found = {}
for _, condition in ipairs(status.conditions or {}) do
  found[condition.type] = condition
end
local function isTrue(kind)
  return found[kind] ~= nil and found[kind].status == "True"
end
if isTrue("Failed") then
  hs.status = "Degraded"
  hs.message = found.Failed.reason .. ": " .. (found.Failed.message or "")
elseif isTrue("Complete") and not isTrue("Valid") then
  hs.status = "Degraded"
  hs.message = "the results are not valid"
  if found.Valid ~= nil then
    hs.message = found.Valid.reason .. ": " .. (found.Valid.message or "")
  end
elseif isTrue("Complete") then
  hs.status = "Healthy"
  hs.message = "complete and valid"
else
  hs.message = status.message or status.stage or ""
end
return hs
