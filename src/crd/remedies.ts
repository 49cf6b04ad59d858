/**
 * The remedies: texts that say what to do about each reason of a condition. The generator copies these texts to
 * docs/troubleshooting.md and to the pages of the kinds.
 */
import type { Reason } from '../engine/kind/contract/reasons.ts';

type Remedies = Partial<Readonly<Record<Reason, string>>>;

const nothing = 'Nothing.';
const byItself = 'Nothing to do: the operator continues by itself.';
const deployAgain =
  'To try again, set the annotation `apphosting.dev/redeploy-at` to a new value; if the annotation `apphosting.dev/roll-back-at` asked for the deployment, set that one. To deploy something else, change the image, `build.revision` or `rollbackContentId` in `spec.deploy`; with an image, also `spec.env`, `spec.functionConfig` or `spec.startupConfig`.';

const ready = {
  InSync: nothing,
  Observed:
    'To let the operator change the service, set `spec.lifecycle.managementPolicy: Manage` on this resource and on its account. To only observe the service, do nothing.',
  DriftReported:
    'To let the operator correct the fields in `status.drift`, set `spec.lifecycle.drift: Correct`; it never corrects a field that the service cannot change. Or change the spec or the service yourself. To only report the differences, do nothing.',
  Succeeded: nothing,
  DeployAssumed: 'Nothing to do. To deploy the environment again, set the annotation `apphosting.dev/redeploy-at`.',
  RolledBack:
    'To deploy something else, change the image, `build.revision` or `rollbackContentId` in `spec.deploy`; with an image, also `spec.env`, `spec.functionConfig` or `spec.startupConfig`. To roll back once more, give the annotation `apphosting.dev/roll-back-at` a new value.',
  Presumed:
    'Before an upgrade, look up the id of the installation in the service\'s console, and put the id into `spec.externalId`. Also check there whether a manual step is left. When no step is left, set `apphosting.dev/post-install-done: "true"`.',
  DeployHeld: 'To start the environment, set `spec.powerState: Running`; the change is then deployed.',
  PendingNextBuild: 'Wait for the next build, or change `spec.deploy.build.revision` to start a build now.',
} as const satisfies Remedies;

const waiting = {
  Paused: 'Remove the annotation `apphosting.dev/paused`.',
  ReadingService:
    'Wait for about a minute. If the reason stays, check the status of the account; the metric `apphosting_mirror_lists_total` counts why lists cannot be read.',
  Creating: byItself,
  Requesting: byItself,
  Updating: byItself,
  Deleting: byItself,
  InDoubt:
    'If the message names a time, wait until then (usually two and a half minutes); otherwise wait for a few minutes. If the reason stays, follow [the runbook](runbooks/call-in-doubt.md). Do not delete and create the resource again to speed this up.',
  CreateInProgress: 'If both resources are intended, do nothing. Otherwise give one of them a different `spec.name`.',
  EnvironmentInDoubt:
    'Nothing to do: the operator continues when the outcome of the call in the message is known, or when that call can no longer arrive.',
  TakeOver: 'Nothing to do: the operator continues after the time in `--horizon-seconds` (two minutes by default).',
  ReferenceNotReady:
    'Check with `kubectl get` that the object in the message exists in the same namespace under exactly this name, that it has the same account (`spec.accountRef`), and that it is Ready.',
  SecretMissing:
    'Create the Secret, or the key in the Secret, that the message names. The operator notices the change at once; with `--secret-watch=off` within about a minute.',
  ConfigMapMissing:
    'Create the ConfigMap, or the key in the ConfigMap, that the message names. The operator notices the change at once; with `--secret-watch=off` within about a minute.',
  AccountNotReady: 'Check the account that `spec.accountRef` names, by default `kubectl get hostingaccount default`.',
  Throttled:
    'If this happens only once, do nothing. If it happens often, follow [the runbook](runbooks/budget-exhausted.md).',
  ServiceUnavailable:
    'If the service is down, wait. If the service is up, correct what the message names: the DNS name, the connection, the certificate or the answer.',
  DangerousCredential: 'Correct the Secret that `spec.dangerousCredentialsRef` of the account names.',
  InternalError: 'Find the details in the log of the operator, and report the bug. Other resources are not affected.',
  DeletionBlocked:
    'Remove what the message names, such as alerts that use a contact point. To delete only the resource and keep the object in the service, set the annotation `apphosting.dev/on-delete: Retain`.',
  ObjectMissing:
    'Nothing to do: the operator reads the service again. If the object is gone, the condition Ready says what happens next. If the kind has `spec.lifecycle.onMissing`, that field decides.',
  InUse: 'Delete the resources that the message names, or wait until they are gone.',
  EnvironmentNotFound:
    "If the message names an id, check that the id is right and that the token can see the environment. If it names a component, check the SolutionInstallation. Otherwise create the environment in the service's console. The operator finds the environment within a poll interval, or at once if you set the annotation `apphosting.dev/reconcile-at`.",
  Preparing:
    'If the message shows the readiness state `preparing`, wait. Otherwise do what the condition RecoveryReady says.',
  InProgress: byItself,
  OperationInProgress:
    'Wait until the other operation or request has ended; `status.activeOperation` of the DisasterProtection shows what the service works on. If a RecoveryActivation is Stalled, create it anew then; everything else continues by itself.',
  ClockUnsure: 'Correct the clock of the node, for example with NTP.',
  CleanupPending:
    'Wait until the service has finished its clean-up. If it refused a DisasterReset or an ActivationDiscard, the operator repeats the reset, or waits for the discard, only until `spec.validUntil`.',
} as const satisfies Remedies;

const stalled = {
  InvalidSpec: 'Correct the field that the message names.',
  Rejected: 'Change the part of the spec that the service refuses. The message says why the service refuses it.',
  Forbidden: 'Give the permission in the message to the member who owns the token, or use a token that has it.',
  Unauthorized: 'Put a valid token into the Secret of the account: [the runbook](runbooks/service-unauthorized.md).',
  UnexpectedResponse:
    'Check that `baseUrl` leads to the service, and not to a proxy or a login page. If it leads to the service, the API has changed: update the operator, or report the message.',
  AlreadyExists:
    'To adopt the existing object, do what the message says. Otherwise choose another `spec.name` or `spec.appName`.',
  Ambiguous: 'Put the id of the right object into `spec.externalId`. Remove the other objects by hand.',
  Claimed: 'Delete one of the two resources, or change the spec of one so that it names another object.',
  AdoptionNotAllowed:
    'If this namespace may adopt the object, set `spec.lifecycle.adoption: ById` (or `ByName`) on the account. Otherwise remove the id from the spec.',
  UnknownPreset: 'Use a preset that `status.catalog` of the account lists; the message suggests a similar one, if any.',
  UnknownSolution: 'Use one of `status.catalog.solutions` of the account; the message suggests a similar one, if any.',
  EnvironmentChanged:
    'If the environment was renamed by mistake, give the environment its old name back. Otherwise create a new resource, with another name, for the environment as it is now; a MemberAccess needs only an edit of its spec.',
  UnknownRemoteStatus:
    "Check the environment in the service's console. If the environment works, update the operator, or report the unknown status.",
  NeverDeployed: 'Set `spec.deploy` to deploy something.',
  RollbackRefused: 'Set another version in `spec.deploy.rollbackContentId`, or deploy an image or a build instead.',
  DeployInDoubt: `Check in the service's console which version runs. ${deployAgain}`,
  ApplyInDoubt:
    "Check in the service's console what the environments run. To send the change again, edit the changed field, or remove `spec.applyImmediately` and set it again.",
  DeployFailed: `Read the log of the deployment in the service's console. ${deployAgain}`,
  PartiallyInstalled:
    'Nothing to do: the operator repeats the request until all components exist. If the message names a cause that you can remove, remove it.',
  UpgradeInDoubt:
    "Check in the service's console which image runs. To try the upgrade again, set `agentImage` in `spec.inputs` to the previous image, and to the new image once the resource is Ready.",
  InstallationIdUnknown:
    "Look up the installation's id in the service's console, and put the id into `spec.externalId`. To install again instead, delete the apps that the message names.",
  AccessWiderThanSpec: 'Change the spec or the role of the member, as the message says.',
  Immutable: 'Undo the change, or create another resource as the message says.',
  NotFound: 'Check that the id is right, and that the token can see the object with this id.',
  ObjectGone:
    'To create a new and empty object, set `spec.lifecycle.onMissing: Recreate`, and remove `spec.externalId` if it is the id of the old object. Otherwise delete the resource.',
  ChangeNotShown:
    "Check in the service's console which value the field has. If the service ignores the field, remove the field from the spec and tell the service's support. To let the operator try again, change the spec, or set the annotation `apphosting.dev/reconcile-at`.",
  Contested:
    'Find out who else writes the field (another cluster, a pipeline or a person), and stop this. Then set the annotation `apphosting.dev/reconcile-at`, so that the operator corrects the field again.',
  EndpointChanged:
    'If the address of the service was changed by mistake, change it back. Otherwise accept the new address with the annotation `apphosting.dev/accept-endpoint: HOST` on the account.',
  HostNotAllowed:
    'Add the host to the flag `--allowed-hosts` of the operator, or correct `baseUrl` in the Secret. A private address also needs the flag `--allow-private-addresses`.',
  VisibilityLost:
    'Check if the token has lost a permission or belongs to another member now, and restore the access. If the objects are really gone, set the annotation `apphosting.dev/accept-missing` on the account to a new value.',
  JournalDamaged: 'Find out who changed the status. Check the service, then remove `status.internal.journal`.',
  ConfigurationGone: 'To protect the environment again, raise `spec.enrollment`. Otherwise delete the resource.',
  WipedByReset: 'To protect the environment again, raise `spec.enrollment`. Otherwise delete the resource.',
} as const satisfies Remedies;

const final = {
  ActivationDisabled:
    'If the message names a flag, start the operator with that flag (the overlay `activation` sets `--enable-activation`). Then create a new resource, because the operator never sends the request of the old resource.',
  Expired: 'Create a new resource with `spec.validUntil` in the future.',
  Superseded:
    'Check the status of the DisasterProtection, and create a new resource from its current values. For an activation, `apphosting activate NAME --point latest` prints a new manifest.',
  DestinationMismatch: 'Create a new resource with the names in `status.warmDestination` of the DisasterProtection.',
  ActivationUnavailable:
    'Remove the obstacle that the message names. A RecoveryActivation that was rejected stays rejected: create a new one.',
  ConfirmationMismatch:
    'Check that the resource refers to the right environment or account. If so, create a new resource with the confirmation that the message asks for.',
  AlreadyActivated: 'Follow [After an activation](runbooks/after-an-activation.md). No second activation was started.',
  OperationNotActive:
    'Check `status.activeOperation` of the DisasterProtection, and create a new resource if that operation must be discarded. Nothing was sent, unless the message says that an earlier call may have been sent.',
  OperationFailed: "Read the message, and check the operation in the service's console; then create a new resource.",
} as const satisfies Remedies;

const aspects = {
  Synced: nothing,
  Drifted:
    'Nothing to do: the operator corrects the difference. With `drift: Report` or `managementPolicy: Observe`, change the spec or the service yourself; `status.drift` lists the fields.',
  Throttling: 'Follow [the runbook](runbooks/budget-exhausted.md).',
  NotThrottled: nothing,
  Propagated: nothing,
  ChangesPending:
    'Deploy each environment again through its AppEnvironment. If only settings changed, set the annotation `apphosting.dev/redeploy-at`. If `preset`, `source` or the image changed, deploy a new image or build. The operator does not notice when somebody deploys an environment in another way; then this condition stays True until you set `spec.applyImmediately: true`, which deploys at once, and restarts the running environments.',
  NoChangesPending: nothing,
  TokenSuffices: nothing,
  ToBeDoneByYou: 'Do what `status.postInstallNote` says. Then set `apphosting.dev/post-install-done: "true"`.',
  NothingToDo: nothing,
  NotDeployedYet:
    'Nothing to do: the service probably deploys the contact point to a region when the first alert there uses it.',
  Firing: 'Respond to the alert as your team planned when it set the alert up.',
  Normal: nothing,
  Pending: byItself,
  NoData: 'Check that the environment runs, and that it has the metric of the alert.',
  EvaluationError: "Check the alert in the service's console.",
  AlertPaused: 'To let the service evaluate the alert, set `spec.enabled: true`.',
  NotRefreshed: byItself,
  StateStale:
    'With `refreshSeconds: 0` or `managementPolicy: Observe`, the operator does not refresh the state of the alert; to change this, set `refreshSeconds` to a value above 0, and `managementPolicy: Manage`. If both already have these values, look for failed refreshes in the log of the operator.',
  UnknownAlertState: "Check the alert in the service's console. Then update the operator, or report the unknown state.",
  Running: nothing,
  Stopped: nothing,
  AsSpecified: nothing,
  AddedByOthers:
    'If the access is intended, do nothing. Otherwise set `onServiceAdd: Remove`, and set it back when the access is gone. Or add the environment to the spec, apply, and remove it from the spec again: the operator then removes the access.',
  NothingAdded: nothing,
  FeatureNotShown: "Check in the service's console if the account enforces access by environment.",
  RecoveryReady: nothing,
  NotProtected: 'Wait until the protection is set up. The condition Ready says what the operator waits for.',
  NotEligible:
    'If the message names a field of the spec, correct that field. Otherwise the service cannot protect the environment as it is: change what the message names, or delete the resource. `status.source` shows what the service says about the environment.',
  NeedsAttention: 'Follow [the runbook](runbooks/protection-not-ready.md).',
  ChainRollover: byItself,
  CatchingUp: byItself,
  RpoExceeded:
    "Check the snapshots, and the standby of a warm protection, in the service's console. Until there is a newer snapshot, changes after the newest recovery point in `status.recoveryPoints` cannot be recovered.",
  SustainedStandby:
    'Nothing to do. The service runs a larger standby, which costs more, because the standard size applied changes too slowly.',
  SeedBoost: byItself,
  UnknownState:
    "In the service's console, check the operation or the protection that the message names. If the message has a state that the operator does not know, update the operator, or report the state.",
  NotDisclosed:
    "If the resource is a RecoveryActivation, check in the service's console how the activation ended; while the reason of Ready is NotDisclosed, edits of the DisasterProtection wait until you delete the RecoveryActivation. If the resource is a SolutionInstallation, do what the message says. Otherwise do nothing.",
  CaughtUp: nothing,
  ActivationPossible: nothing,
  NoRecoveryPoint: "Wait for the first snapshot. If no snapshot comes, check the protection in the service's console.",
  NothingPending: nothing,
  Accepted: nothing,
  NotSent: byItself,
  Promoted: 'Follow [After an activation](runbooks/after-an-activation.md).',
  NotPromoted:
    'While the activation is under way, do nothing. If the activation has ended, do what the reason of Ready says.',
  ScheduleEstablished: nothing,
  NoSchedule: 'Nothing to do. To try out a recovery, create a RecoveryValidation.',
} as const satisfies Remedies;

/**
 * The chapters of docs/troubleshooting.md in order. Each chapter is a group of condition reasons, each with its remedy.
 */
export const chapters = { ready, waiting, stalled, final, aspects } as const;

const requests = ['RecoveryValidation', 'RecoveryActivation', 'ActivationDiscard', 'DisasterReset'];
const dangerous = ['RecoveryActivation', 'ActivationDiscard', 'DisasterReset'];
const recovery = ['DisasterProtection', ...requests];
const accounts = ['HostingAccount', 'ClusterHostingAccount'];
const drifting = ['HostedApp', 'AppEnvironment', 'ContactPoint', 'MetricAlert', 'MemberAccess', 'DisasterProtection'];
const only = (kinds: readonly string[], ...names: readonly Reason[]) => names.map((name) => [name, kinds] as const);

/** Condition reasons that only some kinds can have, each with the names of these kinds. */
const own: ReadonlyMap<Reason, readonly string[]> = new Map([
  ...only(accounts, 'Unauthorized', 'HostNotAllowed', 'InUse', 'Throttling', 'NotThrottled', 'TokenSuffices'),
  ...only(['HostedApp'], 'UnknownPreset', 'ApplyInDoubt', 'ChangesPending', 'NoChangesPending'),
  ...only(['HostedApp', 'AppEnvironment', 'SolutionInstallation'], 'EnvironmentInDoubt'),
  ...only(['AppEnvironment', 'DisasterProtection', 'MemberAccess'], 'EnvironmentChanged'),
  ...only(['AppEnvironment'], 'UnknownRemoteStatus', 'NeverDeployed', 'RollbackRefused'),
  ...only(['AppEnvironment'], 'DeployInDoubt', 'DeployFailed', 'DeployAssumed', 'DeployHeld', 'RolledBack'),
  ...only(['AppEnvironment'], 'PendingNextBuild', 'Running', 'Stopped'),
  ...only(['AppEnvironment', 'MemberAccess', 'MetricAlert'], 'EnvironmentNotFound'),
  ...only(['SolutionInstallation'], 'UnknownSolution', 'PartiallyInstalled', 'UpgradeInDoubt', 'Presumed'),
  ...only(['SolutionInstallation'], 'InstallationIdUnknown', 'ToBeDoneByYou', 'NothingToDo'),
  ...only(['HostedApp', 'ContactPoint', 'MetricAlert'], 'ChangeNotShown'),
  ...only(drifting, 'DriftReported'),
  ...only(['ContactPoint'], 'Propagated', 'NotDeployedYet'),
  ...only(['MetricAlert'], 'Firing', 'Normal', 'Pending', 'NoData', 'EvaluationError', 'AlertPaused', 'NotRefreshed'),
  ...only(['MetricAlert'], 'StateStale', 'UnknownAlertState'),
  ...only(['MemberAccess'], 'AccessWiderThanSpec', 'AsSpecified', 'FeatureNotShown', 'AddedByOthers', 'NothingAdded'),
  ...only(['DisasterProtection'], 'Preparing', 'ConfigurationGone', 'WipedByReset', 'RecoveryReady', 'NeedsAttention'),
  ...only(['DisasterProtection'], 'ChainRollover', 'CatchingUp', 'RpoExceeded', 'SustainedStandby', 'SeedBoost'),
  ...only(['DisasterProtection'], 'NotProtected', 'NotEligible'),
  ...only(['DisasterProtection'], 'CaughtUp', 'ActivationPossible', 'NoRecoveryPoint', 'NothingPending'),
  ...only(['DisasterProtection', 'RecoveryValidation', 'RecoveryActivation', 'SolutionInstallation'], 'NotDisclosed'),
  ...only(recovery, 'OperationInProgress', 'CleanupPending', 'AlreadyActivated'),
  ...only(recovery, 'UnknownState'),
  ...only(['DisasterProtection', 'RecoveryActivation'], 'ActivationUnavailable'),
  ...only(requests, 'InProgress', 'Accepted', 'NotSent', 'Succeeded', 'OperationFailed', 'Superseded'),
  ...only(dangerous, 'ActivationDisabled', 'Expired', 'ClockUnsure', 'ConfirmationMismatch', 'DangerousCredential'),
  ...only(['RecoveryActivation'], 'DestinationMismatch', 'Promoted', 'NotPromoted'),
  ...only(['RecoveryValidation'], 'ScheduleEstablished', 'NoSchedule'),
  ...only(['ActivationDiscard'], 'OperationNotActive'),
]);

/** True if a condition of a resource of this kind can have this reason. */
export function canHave(kind: string, reason: Reason): boolean {
  return own.get(reason)?.includes(kind) ?? true;
}

/**
 * The remedies for all reasons of conditions. A remedy is a text that says what to do. A reason without a remedy is a
 * type error.
 */
export const remedies: Readonly<Record<Reason, string>> = { ...ready, ...waiting, ...stalled, ...final, ...aspects };
