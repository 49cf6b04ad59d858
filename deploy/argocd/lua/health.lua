-- Health of every kind of apphosting.dev, as kstatus reads the same status.
local health = { status = "Progressing", message = "waiting for the operator to look at it" }
local metadata = obj.metadata or {}
local status = obj.status
local paused = metadata.annotations ~= nil and metadata.annotations["apphosting.dev/paused"] == "true"
if metadata.deletionTimestamp ~= nil then
  health.message = "being deleted"
  if paused then
    health.message = "being deleted, and held by the annotation apphosting.dev/paused"
    return health
  end
elseif paused then
  health.status = "Suspended"
  health.message = "held by the annotation apphosting.dev/paused"
  return health
end
if status == nil or status.conditions == nil then
  return health
end
local conditions = {}
for _, condition in ipairs(status.conditions) do
  conditions[condition.type] = condition
end
local ready = conditions["Ready"]
if ready ~= nil then
  health.message = ready.reason .. ": " .. ready.message
end
if metadata.deletionTimestamp ~= nil then
  return health
end
if status.observedGeneration ~= metadata.generation then
  health.message = "the newest change was not looked at yet"
  return health
end
if conditions["Reconciling"] ~= nil and conditions["Reconciling"].status == "True" then
  return health
end
if conditions["Stalled"] ~= nil and conditions["Stalled"].status == "True" then
  health.status = "Degraded"
  return health
end
if ready ~= nil and ready.status == "True" then
  health.status = "Healthy"
end
return health
