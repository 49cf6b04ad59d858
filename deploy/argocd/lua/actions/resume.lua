if obj.metadata.annotations ~= nil then
  obj.metadata.annotations["apphosting.dev/paused"] = nil
end
return obj
