-- One trial a minute at most: the name says the minute, so a second click finds it there already.
-- Argo CD has its own time library only for scripts that ask for it.
local os = require("os")
local validation = {}
validation.apiVersion = obj.apiVersion
validation.kind = "RecoveryValidation"
validation.metadata = {}
validation.metadata.name = obj.metadata.name .. "-" .. os.date("!%Y%m%d%H%M")
validation.metadata.namespace = obj.metadata.namespace
local owner = {}
owner.apiVersion = obj.apiVersion
owner.kind = obj.kind
owner.name = obj.metadata.name
owner.uid = obj.metadata.uid
validation.metadata.ownerReferences = {}
validation.metadata.ownerReferences[1] = owner
validation.spec = {}
validation.spec.accountRef = obj.spec.accountRef
validation.spec.protectionRef = {}
validation.spec.protectionRef.name = obj.metadata.name
local created = {}
created.operation = "create"
created.resource = validation
local result = {}
result[1] = created
return result
