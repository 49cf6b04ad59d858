/**
 * All reasons that conditions can have, each with its meaning and what to do. The reference pages are generated from
 * this table.
 */
export const reasons = {
  // Reasons of the condition Ready
  InSync: 'The service equals the spec.',
  Observed: 'The object is only observed: nothing is written to the service.',
  DriftReported:
    'The service differs from the spec in the fields that the message names; the differences are only reported, as spec.lifecycle.drift: Report asks.',
  Paused: 'The annotation apphosting.dev/paused pauses this object; remove the annotation to continue.',
  // Reasons of the condition Ready while a resource waits for something
  ReadingService: 'Waiting for the first complete read of the service.',
  Creating: 'The operator has decided to create the object in the service; the call may not have been sent yet.',
  Requesting:
    'The request is recorded in status and is being sent to the service; until its outcome is known, it may have been carried out.',
  Updating: 'The object is being changed in the service.',
  Deleting: 'The object is being deleted in the service.',
  InDoubt: 'A call was or may have been sent, and its outcome is not known yet; the operator watches for it.',
  CreateInProgress: 'Another resource is creating an object of the same name; this resource waits for that call.',
  EnvironmentInDoubt:
    'The outcome of a call that another resource made for the same environment is not known; nothing is sent to the environment until the outcome is known or the call can no longer arrive.',
  TakeOver:
    'The previous leader was lost, or the cluster was restored; the call waits, because earlier calls may still arrive at the service.',
  ReferenceNotReady:
    'An object that the spec refers to does not exist yet, belongs to another account, has no id in the service yet, or is gone from the service.',
  SecretMissing: 'A Secret, or a key of a Secret, to which the spec refers does not exist.',
  ConfigMapMissing: 'A ConfigMap, or a key of a ConfigMap, to which the spec refers does not exist.',
  AccountNotReady: 'The account of this object cannot be used; the conditions of the account say why.',
  Throttled: 'The service asked the operator to slow down; requests are sent again when the pause is over.',
  ServiceUnavailable:
    'The service did not answer, or answered with a server error; the operator tries again, and waits longer each time.',
  DangerousCredential:
    'The Secret of spec.dangerousCredentialsRef cannot be used: for example, it is missing, its baseUrl differs from that in the Secret of spec.credentialsRef, or its token does not see the account. The recovery request is not sent with any other credential.',
  InternalError:
    "The operator failed on this object because of a bug, or because Kubernetes refused a request; the operator's log has the details. The operator tries again, and waits longer each time.",
  DeletionBlocked:
    'The service refuses to delete the object while something uses or protects the object; the operator tries again until the deletion succeeds.',
  ObjectMissing: 'The service did not find the object; the object counts as gone only after further reads.',
  InUse: 'Other resources still use the account. Delete these resources before the account.',
  // Reasons of the condition Stalled
  InvalidSpec: 'The spec is not valid; the message says which field.',
  Rejected: 'The service refuses the request; the message has the explanation of the service. Change the spec.',
  Forbidden: 'The credential lacks a permission that a call or a read needs; grant it, or use another credential.',
  Unauthorized: 'The service does not accept the token of the account; put a valid token into the Secret.',
  UnexpectedResponse: 'The service answered in a form that its API does not describe.',
  AlreadyExists:
    'The service has an object of this name (for a SolutionInstallation: apps that may be its components) that this resource is not known to have created; the message says what to do.',
  Ambiguous:
    'One or more objects in the service may be the result of a create call whose outcome is not known; name the right object in spec.externalId.',
  Claimed: 'Another resource in this cluster owns the object in the service; the message names that resource.',
  AdoptionNotAllowed: 'The spec names an object that this namespace did not create and may not adopt.',
  UnknownPreset: 'The account has no preset of this name; if a name is similar, the message suggests it.',
  UnknownSolution:
    'The catalog of the account has no solution of this name; if a name is similar, the message suggests it.',
  EnvironmentNotFound:
    'The service does not list the environment, and its API cannot create environments; the operator continues as soon as the environment is listed.',
  EnvironmentChanged:
    'The environment to which this resource is bound now has a different name or belongs to a different app, or a reference in the spec now points to a different environment; nothing is sent.',
  UnknownRemoteStatus: 'The service shows an undocumented environment status; nothing is sent until it changes.',
  NeverDeployed:
    'The service refused to start the environment, and this resource has never deployed anything to it. An environment can start only after its first deployment; the message shows what the service said.',
  RollbackRefused: 'The service refuses to roll back to the content version; no other version is deployed instead.',
  DeployInDoubt:
    'The outcome of two attempts at a deployment is not known, and the service does not show that the deployment was carried out; to try again, set the annotation redeploy-at (if the annotation roll-back-at asked for the deployment: roll-back-at) to a new value, or change the image, build.revision or rollbackContentId in spec.deploy (with an image, also spec.env, spec.functionConfig or spec.startupConfig), and the operator deploys the spec instead.',
  ApplyInDoubt:
    'The outcome of two attempts at a change with spec.applyImmediately is not known, and the service does not show whether the change was carried out; the change is not sent a third time.',
  DeployFailed:
    'The service accepted the deployment and reports that it failed; to try again, set the annotation redeploy-at (if the annotation roll-back-at asked for the deployment: roll-back-at) to a new value, or change the image, build.revision or rollbackContentId in spec.deploy (with an image, also spec.env, spec.functionConfig or spec.startupConfig), and the operator deploys the spec instead.',
  PartiallyInstalled:
    'The service created only some components of the solution; the operator continues the same installation, by its id.',
  UpgradeInDoubt:
    'The outcome of two attempts at an upgrade is not known, and the service does not show which image runs; the upgrade is sent again only for a different image.',
  InstallationIdUnknown: 'The id of the installation is not known; nothing is sent, because every request needs it.',
  AccessWiderThanSpec: 'The member has full access although the spec restricts it; the message says what happens next.',
  Immutable: 'The service cannot change this field of an existing object; the message says what to do.',
  NotFound: 'The object that the spec names does not exist in the service.',
  ObjectGone:
    'The object no longer exists in the service and is not created again, because spec.lifecycle.onMissing is Stall or spec.externalId names the object.',
  ChangeNotShown:
    'The service accepted the same change several times (an edit three times, a correction of drift twice) but still shows the old value; the change is not sent again until the spec changes.',
  Contested:
    'Somebody else keeps changing this field back. The operator corrects the field again when the spec is edited, when the annotation reconcile-at is set, or when the field matches the spec again.',
  EndpointChanged:
    'The endpoint or the id of the account is no longer the one to which the object is bound; nothing is sent.',
  HostNotAllowed: 'The flags of the operator do not allow the host that the Secret names.',
  VisibilityLost:
    'Objects that resources own are suddenly missing from lists of the service; nothing is created or deleted in the account until the objects are listed again, further reads prove that they are gone, or you accept the loss with the annotation accept-missing.',
  JournalDamaged:
    'The journal in status (calls that must not happen twice) was changed by somebody and cannot be parsed; nothing is sent until status.internal.journal is removed.',
  // Reasons of the condition Ready while a disaster-recovery resource waits for something
  Preparing:
    'Recovery is not ready yet. Usually the service is making the first copy of the data, or a new copy after the settings of the protection were changed; the message shows the readiness state that the service reports.',
  InProgress: 'The service has accepted the request and is working on it; status.stage shows the progress.',
  OperationInProgress: 'An operation or a recovery request that concerns the same protection has not ended.',
  ClockUnsure:
    'Nothing is sent: the clocks of the operator, of Kubernetes and of the service differ by more than 60 seconds, or the operator has read the time neither from Kubernetes nor from the service yet. The operator sends the request when it has read the time and the clocks agree.',
  CleanupPending:
    'The service still has to remove what an operation or this request leaves behind, still retains disks, or has not shown in two reads that everything is removed; the message says more.',
  // Reasons for which a one-time disaster-recovery request has ended without success
  ActivationDisabled:
    'The operator does not send the request. Either the operator runs without a flag that the request needs (--enable-activation, and --enable-account-reset for a wipe of the account), or the creation time of the resource is before the time at which the operator started. Create another resource.',
  Expired: 'The time in spec.validUntil is over, so nothing is sent any more. Create another resource.',
  Superseded:
    'The spec names a configuration, a generation, a recovery point or an operation that has changed or no longer exists. Check the protection and create another resource.',
  DestinationMismatch:
    'The names in spec.target differ from those in status.warmDestination of the DisasterProtection, or the service does not show the warm destination. Create another resource with the names in status.warmDestination.',
  ActivationUnavailable: 'The service says that no activation is possible; the message has the reason of the service.',
  ConfirmationMismatch: 'spec.confirmation is not the name that must be confirmed; the message states that name.',
  AlreadyActivated:
    'The protection was already activated, or is being activated. To activate it once more, name the earlier activation in spec.afterOperationId.',
  OperationNotActive: 'The service is not working on the operation that the spec names.',
  OperationFailed: 'The operation failed or was cancelled, or the service no longer works on it and shows no result.',
  // Reasons in the conditions of a DisasterProtection
  ConfigurationGone:
    'The protection is gone from the service; the operator does not set it up again until you raise the number in spec.enrollment.',
  WipedByReset:
    'A DisasterReset wiped the protection; the operator does not set it up again until you raise the number in spec.enrollment.',
  NotProtected: 'The service lists no protection of the environment, so the environment could not be recovered.',
  NotEligible:
    'The service would refuse this protection: the environment or the destination region is not eligible, or the spec lacks a name or an acknowledgement. The message says what is wrong; nothing is sent.',
  RecoveryReady: 'The service says that a recovery would work.',
  NeedsAttention: 'The service says that the protection needs attention; the message has the reason of the service.',
  ChainRollover: 'A new chain of snapshots is being built; recovery is not ready until the chain is complete.',
  CatchingUp: 'The standby has not applied all changes yet.',
  RpoExceeded:
    'The newest data that can be recovered is much older than the recovery point objective allows, or the standby no longer makes progress.',
  SustainedStandby:
    'The standby runs at its full size, because the standard size applied changes too slowly; the service returns to the standard size after a quiet period.',
  SeedBoost: 'The standby runs at a larger size while it makes its first copy of the data.',
  UnknownState:
    'The service shows a state that the operator does not know, or too little to tell how a request ended. Neither counts as ready or as a success.',
  NotDisclosed: 'The service does not show the state that this condition is about.',
  CaughtUp: 'The standby has applied all changes.',
  ActivationPossible: 'The service shows no obstacle to an activation.',
  NoRecoveryPoint: 'The service lists no recovery point.',
  NothingPending: 'The service shows no pending clean-up.',
  // Reasons in the conditions of a one-time disaster-recovery request
  Accepted: 'The service accepted the request, or shows its effect.',
  NotSent: 'The request has not been sent to the service yet.',
  Promoted: 'The recovered environment is live.',
  NotPromoted: 'The service has not reported that the recovered environment is live.',
  ScheduleEstablished: 'The service also validates this configuration on a schedule.',
  NoSchedule: 'The service does not yet validate this configuration on a schedule.',
  Succeeded: 'The request succeeded.',
  // Reasons of the condition Ready that are used in place of InSync, because they say more
  DeployAssumed:
    'The environment was already running when this resource was bound to it; the running version counts as deployed until the spec asks for a different deployment or the annotation redeploy-at changes.',
  RolledBack:
    'The environment was rolled back because of the annotation roll-back-at; the operator does not deploy the version in the spec until the spec asks for a different deployment.',
  Presumed:
    'The outcome of the installation call is not known. The components that the service shows can only come from that call, so they count as part of this installation; the id of the installation is not known.',
  DeployHeld: 'The environment is stopped; the change is deployed when the environment is started again.',
  PendingNextBuild:
    'spec.startupConfig has changed. The change takes effect with the next build, which starts when you change spec.deploy.build.revision.',
  // Reasons of the condition Synced
  Synced: 'The last call or read succeeded and the service equals the spec.',
  Drifted: 'The service differs from the spec; status.drift lists the fields.',
  // Reasons of conditions that only some kinds have
  ToBeDoneByYou: 'The service says that a person must do something before the installation can be used.',
  NothingToDo:
    'The field status.postInstallNote is absent, or the annotation post-install-done says that the step in this field is done.',
  TokenSuffices: 'No resource of the account needs a permission that the token lacks.',
  ChangesPending: 'Some changes of the app take effect in an environment only with its next deployment.',
  NoChangesPending: 'No change of the app is waiting for the next deployment.',
  Throttling: 'The service asked the operator to slow down, so requests wait or are sent more slowly at the moment.',
  NotThrottled: 'The operator may send requests at the full rate.',
  Propagated: 'The contact point is deployed to the regions listed in status.deployments.',
  Firing: 'The condition of the alert is met and notifications were sent.',
  Normal: 'The condition of the alert is not met.',
  Pending: 'The condition of the alert is met, but not for long enough yet.',
  NoData: 'The service has no data for the metric.',
  EvaluationError: 'The service cannot evaluate the condition of the alert.',
  AlertPaused: 'The alert is not enabled, so it is not evaluated.',
  NotRefreshed: 'The operator has not read the state of the alert yet.',
  StateStale: 'The service has not confirmed the state of the alert for a long time, so the status may be out of date.',
  UnknownAlertState: 'The service shows a state of the alert that this operator does not know.',
  Running: 'The environment runs.',
  Stopped: 'The environment is stopped.',
  AsSpecified: 'The member does not have full access, or the spec allows full access.',
  AddedByOthers:
    'The member also has access to environments that the spec does not name, because somebody else added them; spec.onServiceAdd is Keep, so the operator does not remove this access.',
  NothingAdded: 'The member has access only to the environments that the spec names; nobody has added others.',
  FeatureNotShown:
    'The API does not show whether the account enforces member access by environment; in an account that does not enforce it, every member has full access.',
  NotDeployedYet:
    'The contact point is not deployed to any region yet; the service probably deploys it to a region when the first alert there uses it.',
} as const;

export type Reason = keyof typeof reasons;
