-- Argo CD has its own time library only for scripts that ask for it.
local os = require("os")
if obj.metadata.annotations == nil then
  obj.metadata.annotations = {}
end
obj.metadata.annotations["apphosting.dev/reconcile-at"] = os.date("!%Y-%m-%dT%XZ")
return obj
