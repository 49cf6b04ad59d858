local actions = {}
local annotations = obj.metadata.annotations or {}
local paused = annotations["apphosting.dev/paused"] == "true"
actions["refresh"] = { ["disabled"] = paused }
actions["pause"] = { ["disabled"] = paused }
actions["resume"] = { ["disabled"] = not paused }
if obj.kind == "AppEnvironment" then
  local stopped = obj.spec.powerState == "Stopped"
  actions["redeploy"] = { ["disabled"] = paused or stopped }
  actions["stop"] = { ["disabled"] = stopped }
  actions["start"] = { ["disabled"] = obj.spec.powerState == "Running" }
end
if obj.kind == "DisasterProtection" then
  actions["validate-now"] = { ["disabled"] = paused }
end
return actions
