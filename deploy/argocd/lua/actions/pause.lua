if obj.metadata.annotations == nil then
  obj.metadata.annotations = {}
end
obj.metadata.annotations["apphosting.dev/paused"] = "true"
return obj
