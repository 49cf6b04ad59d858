/**
 * All reasons that conditions can have, each with its meaning and what to do. The reference pages are generated from
 * this table.
 */
export const reasons = {
  // Reasons of the condition Ready
  InSync: 'The service equals the spec.',
  Observed: 'The object is only observed: nothing is written to the service.',
  Paused: 'The annotation apphosting.dev/paused holds this object; remove it to go on.',
  // Reasons of a resource that waits
  ReadingService: 'Waiting for the first complete read of the service.',
  Creating: 'The object is being created in the service.',
  Requesting: 'The request is written down and about to be sent to the service.',
  Updating: 'The object is being changed in the service.',
  Deleting: 'The object is being deleted in the service.',
  InDoubt: 'A call was sent and its outcome is not known; the service is being watched until it is.',
  CreateInProgress: 'Another resource is creating an object of the same name; this one takes its turn after it.',
  EnvironmentInDoubt:
    'A call of another resource that changes the same environment is in doubt; nothing is sent to the environment until that is settled.',
  TakeOver:
    'This operator has just become leader; calls that cannot be repeated wait until those of its predecessor can no longer arrive.',
  ReferenceNotReady:
    'An object that the spec refers to does not exist yet, has no id in the service yet, or is gone from the service.',
  SecretMissing: 'A Secret or one of its keys that the spec refers to does not exist.',
  ConfigMapMissing: 'A ConfigMap or one of its keys that the spec refers to does not exist.',
  AccountNotReady: 'The account that this object belongs to cannot be used; its own conditions say why.',
  Throttled: 'The service asked to slow down; the call is repeated when the pause is over.',
  ServiceUnavailable: 'The service did not answer, or answered with an error of its own; retried with growing pauses.',
  DangerousCredential:
    'The Secret of spec.dangerousCredentialsRef is missing, names another host, or its token does not see the account; the call is not made with any other.',
  InternalError: 'The operator made a mistake of its own; its log has the details. Retried with growing pauses.',
  DeletionBlocked:
    'The service refuses to delete the object while something uses or protects it; retried when that goes away.',
  ObjectMissing: 'The object was not found in the service; it counts as gone only after proof.',
  InUse: 'The account is still used by other resources and cannot be removed before them.',
  // Reasons of the condition Stalled
  InvalidSpec: 'The spec is not valid; the message says which field.',
  Rejected: 'The service refuses the request; the message carries its words. Change the spec.',
  Forbidden: 'The credential may not do this; give it the permission, or use another.',
  Unauthorized: 'The service does not accept the token; put a valid one into the Secret.',
  UnexpectedResponse: 'The service answered in a form that the interface does not describe.',
  AlreadyExists: 'An object of this name exists that this resource did not create; the message says how to adopt it.',
  Ambiguous: 'Several objects could be the one that a lost call created; name the right one in spec.externalId.',
  Claimed: 'Another resource in this cluster owns the object in the service; the message names it.',
  AdoptionNotAllowed:
    'The spec names an object that this namespace did not create, and the account does not allow to adopt it.',
  UnknownPreset: 'The account has no such preset; the message names the nearest one that it has.',
  UnknownSolution: 'The catalog of the account has no such solution; the message names the nearest one that it has.',
  EnvironmentNotFound:
    'The environment does not exist in the service, which cannot be told to create one; it is bound as soon as it appears.',
  EnvironmentChanged:
    'The environment that this resource is bound to has another name or belongs to another app now, or a reference leads to another environment; nothing is sent.',
  UnknownRemoteStatus:
    'The service shows a status that the interface does not describe; nothing is sent until it changes.',
  NeverDeployed: 'The environment was never deployed, so it cannot be started.',
  RollbackRefused: 'The service refuses to roll back to the content version; nothing else is deployed in its place.',
  DeployInDoubt:
    'The answer to a deployment was lost twice and nothing shows that it was carried out; change what is deployed, or redeploy-at, to try again.',
  ApplyInDoubt:
    'The answer to a change that is applied at once was lost twice, and the service does not show whether it was carried out; it is not sent a third time.',
  DeployFailed:
    'The service accepted the deployment and says that it failed; change what is deployed, or redeploy-at, to try again.',
  PartiallyInstalled: 'The service made some of the components; the installation is continued under the same id.',
  UpgradeInDoubt:
    'The answer to an upgrade was lost twice, and the service does not show which image runs; another image is needed to try again.',
  InstallationIdUnknown:
    'The id of the installation is not known, so it can neither be continued nor upgraded; nothing is sent.',
  AccessWiderThanSpec:
    'The member has full access although the spec restricts it; the message says what is done about it.',
  Immutable: 'The service cannot change this field of an object that exists; the message says what to do.',
  NotFound: 'The object that the spec names does not exist in the service.',
  ObjectGone:
    'The object is proved gone from the service, and spec.lifecycle.onMissing is Stall or spec.externalId names it.',
  ToBeDoneByYou: 'The service says that a person must do something before the installation can be used.',
  NothingToDo: 'Nothing is left to be done by a person.',
  TokenSuffices: 'No resource of the account waits for a permission of its token.',
  ChangesPending: 'Changes of the app wait in each environment for its next deployment.',
  NoChangesPending: 'No change of the app waits for a deployment.',
  ChangeNotShown:
    'The service accepted the same change, an edit three times or a correction twice, but still shows the old value; it is not sent again until the spec changes.',
  Contested:
    'Somebody else keeps changing the same field back; it is no longer corrected until the spec is edited, reconcile-at is set, or the field has the value of the spec again.',
  EndpointChanged:
    'The object belongs to another endpoint or account than the one it would be sent to; nothing is sent.',
  HostNotAllowed: 'The host in the Secret is not allowed by the operator.',
  VisibilityLost:
    'Owned objects are suddenly missing from the lists; nothing is created or deleted until that is resolved.',
  JournalDamaged:
    'The journal in status was changed by somebody and cannot be read; nothing is sent until status.internal.journal is removed.',
  // Disaster recovery: reasons of a resource that waits
  Preparing: 'The service prepares the recovery; it is not ready for the first time yet.',
  InProgress: 'The service has accepted the request and works on it; status.stage shows how far it is.',
  OperationInProgress: 'The service works on another operation of the same configuration.',
  ClockUnsure:
    'The clocks of the operator, of Kubernetes and of the service are more than 60 seconds apart, or the operator knows neither of the other two; nothing is sent until they agree.',
  CleanupPending: 'The service still cleans up; the message says what happens next.',
  // Disaster recovery: reasons for which a one-time request has ended without success
  ActivationDisabled:
    'The operator runs without --enable-activation (or, for a whole account, --enable-account-reset), or started after this resource was created: an older request is never carried out, and nothing was sent. Create another one.',
  Expired: 'spec.validUntil has passed, so nothing is sent any more. Create another resource.',
  Superseded:
    'Something that the resource pins has changed: the configuration, its generation, the recovery point or the operation. Look again and create another resource.',
  DestinationMismatch:
    'The names in spec.target are not the ones of the warm destination. Copy status.warmDestination of the protection.',
  ActivationUnavailable: 'The service says that the source cannot be activated; the message carries its reason.',
  ConfirmationMismatch: 'spec.confirmation is not the name of the source.',
  AlreadyActivated:
    'The configuration was activated, or is being activated. If another activation is meant, name the earlier one in spec.afterOperationId.',
  OperationNotActive: 'The operation that the resource names is not the one that the service works on.',
  OperationFailed: 'The service ended the operation without the result that was asked for.',
  // Disaster recovery: reasons about a DisasterProtection
  ConfigurationGone: 'The protection is gone from the service. It is not set up again until spec.enrollment is raised.',
  WipedByReset: 'A DisasterReset wiped the protection. It is not set up again until spec.enrollment is raised.',
  NotProtected: 'The service lists no protection of the environment: nothing could be recovered.',
  NotEligible:
    'The service shows that it would refuse this protection; the message says which field of the spec, and what would be accepted.',
  RecoveryReady: 'The service says that a recovery would work.',
  NeedsAttention: 'The service says that the protection needs attention; the message carries its reason.',
  ChainRollover: 'A new chain of snapshots is being built; until it is complete, recovery is not ready.',
  CatchingUp: 'The standby has not applied all changes yet.',
  RpoExceeded: 'The newest data that can be recovered is older than the target allows, by far.',
  SustainedStandby: 'The standby runs at its full size for good, since the standard size was too slow.',
  SeedBoost: 'The standby runs at a larger size while it makes its first copy.',
  UnknownState:
    'The service shows a state that its interface does not explain, or no result of a request; it does not count as ready.',
  NotDisclosed: 'The service does not show it.',
  CaughtUp: 'The standby has applied all changes.',
  ActivationPossible: 'Nothing that the service shows stands in the way of an activation.',
  NoRecoveryPoint: 'The service lists no recovery point.',
  NothingPending: 'The service shows no clean-up that is pending.',
  // Disaster recovery: reasons about one-time requests
  Accepted: 'The service accepted the request.',
  NotSent: 'Nothing was sent to the service yet.',
  Promoted: 'The recovered environment is live.',
  NotPromoted: 'The recovered environment is not live.',
  ScheduleEstablished: 'Validations also run by schedule.',
  NoSchedule: 'Validations do not run by schedule for this configuration yet.',
  Succeeded: 'The request succeeded.',
  // Reasons of the condition Ready that say more than InSync
  DeployAssumed:
    'The environment ran already when it was bound: what it runs counts as deployed until the spec or redeploy-at changes.',
  RolledBack: 'The environment was rolled back for roll-back-at; what the spec says is deployed again when it changes.',
  Presumed:
    'The answer to the installation was lost. The components that the service shows can only come from it, so they count as its own; its id is not known.',
  DeployHeld: 'The environment is stopped; the change is deployed when it is started again.',
  PendingNextBuild:
    'spec.startupConfig has changed; it takes effect with the next build, when deploy.build.revision changes.',
  // Reasons of the condition Synced
  Synced: 'The last call or read succeeded and the service equals the spec.',
  Drifted: 'The service differs from the spec; status.drift lists the fields.',
  // Reasons of conditions that only some kinds have
  Throttling: 'Requests are being held back at the moment.',
  NotThrottled: 'No request is being held back.',
  Propagated: 'The contact point is deployed to the regions listed in status.deployments.',
  Firing: 'The condition of the alert is met and notifications were sent.',
  Normal: 'The condition of the alert is not met.',
  Pending: 'The condition of the alert is met, but not for long enough yet.',
  NoData: 'The service has no data for the metric.',
  EvaluationError: 'The service cannot evaluate the condition of the alert.',
  AlertPaused: 'The alert is not enabled, so it is not evaluated.',
  NotRefreshed: 'The state of the alert has not been asked for yet.',
  StateStale: 'Nothing has shown the state of the alert for long, so that the one in status may no longer hold.',
  UnknownAlertState: 'The service shows a state of the alert that this operator does not know.',
  Running: 'The environment runs.',
  Stopped: 'The environment is stopped.',
  AsSpecified: 'The member does not have full access, or the spec allows it.',
  AddedByOthers:
    'The member may also reach environments that the spec does not name and that somebody else added; they are kept, since onServiceAdd is Keep.',
  NothingAdded: 'No environments are kept that the spec does not name.',
  FeatureNotShown:
    'The interface does not show whether the account enforces member access by environment; while it does not, every member has full access.',
  NotDeployedYet:
    'The service has not deployed the contact point to a region yet; it may wait for the first alert there.',
} as const;

export type Reason = keyof typeof reasons;
