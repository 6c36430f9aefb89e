-- The health of Dynamo's five kinds for Argo CD, from the conditions that every one of them has.
-- Degraded: waiting does not help. Progressing: it may. Argo CD itself says Progressing while an object is being deleted.
local hs = { status = "Progressing", message = "The hooks have not seen this object yet" }
local status = obj.status
if status == nil or status.conditions == nil then
  return hs
end
local seen = status.observedGeneration
if seen ~= nil and obj.metadata.generation ~= nil and seen ~= obj.metadata.generation then
  hs.message = "The newest spec is not processed yet"
  return hs
end
local found = {}
for _, condition in ipairs(status.conditions) do
  found[condition.type] = condition
end
local lasting = {
  LoadFailed = true, Unsupported = true,
  ProfilingFailed = true, GenerationFailed = true, JobCreationFailed = true,
  DeploymentCreationFailed = true, DeploymentDeleted = true, DeploymentDegraded = true,
  GraphNotFound = true, ServiceNotFound = true, AdapterNotInForce = true,
}
local ready = found.Ready
if found.Valid ~= nil and found.Valid.status == "False" then
  hs.status = "Degraded"
  hs.message = found.Valid.message
elseif ready ~= nil and ready.status == "True" then
  hs.status = "Healthy"
  hs.message = ready.message
elseif found.Applied ~= nil and found.Applied.status == "False" and found.Applied.reason ~= "Waiting" then
  hs.status = "Degraded"
  hs.message = found.Applied.message
elseif ready ~= nil then
  if lasting[ready.reason] then
    hs.status = "Degraded"
  end
  hs.message = ready.message
end
return hs
