/**
 * The remedies: texts that say what to do about each reason of a condition. The generator copies these texts to
 * docs/troubleshooting.md and to the pages of the kinds.
 */
import type { Reason } from '../engine/kind/contract/reasons.ts';

type Remedies = Partial<Readonly<Record<Reason, string>>>;

const nothing = 'Nothing.';
const byItself = 'Nothing: it goes on by itself.';

const ready = {
  InSync: nothing,
  Observed:
    'Nothing, if only looking is meant. Otherwise set `spec.lifecycle.managementPolicy: Manage`, and that of the account too.',
  Succeeded: nothing,
  DeployAssumed: 'Nothing, or set the annotation `apphosting.dev/redeploy-at` to have it deployed once more.',
  RolledBack:
    'Nothing for now. Put what should run into `spec.deploy`, or set another `apphosting.dev/roll-back-at` to go back once more.',
  Presumed:
    'Nothing. Before an upgrade, look in the console for the id of the installation, and for a step that is left to you, and put the id into `spec.externalId`.',
  DeployHeld: 'Set `spec.powerState: Running` when it is to run.',
  PendingNextBuild: 'Nothing until the next build. To start one now, change `spec.deploy.build.revision`.',
} as const satisfies Remedies;

const waiting = {
  Paused: 'Remove the annotation `apphosting.dev/paused`.',
  ReadingService:
    'Nothing for a minute or so. If it stays, look at the account, and at `apphosting_mirror_lists_total` for why lists cannot be read.',
  Creating: byItself,
  Requesting: byItself,
  Updating: byItself,
  Deleting: byItself,
  InDoubt:
    'Nothing for two and a half minutes (`--call-deadline-seconds` and `--horizon-seconds` together). Then [the runbook](runbooks/call-in-doubt.md). Never delete and create the resource to hurry it.',
  CreateInProgress: 'Nothing, if the other resource is meant too. Otherwise give one of them another `spec.name`.',
  EnvironmentInDoubt:
    'Nothing: it goes on when the outcome of the call that the message names is known, or when that call can no longer arrive.',
  TakeOver: 'Nothing: it goes on after one horizon (two minutes by default).',
  ReferenceNotReady:
    'Look at the object that the message names: `kubectl get` it. Is it in the same namespace, and spelled so?',
  SecretMissing:
    'Create the Secret, or the key, that the message names. It is seen at once; with `--secret-watch=off` within about a minute.',
  ConfigMapMissing:
    'Create the ConfigMap, or the key, that the message names. It is seen at once; with `--secret-watch=off` within about a minute.',
  AccountNotReady: 'Look at the account: `kubectl get hostingaccount default`, or the one of `spec.accountRef`.',
  Throttled: 'Nothing once. Often: [the runbook](runbooks/budget-exhausted.md).',
  ServiceUnavailable:
    'Nothing while the service is down. If it is up: the message says whether the name, the connection, the certificate or the answer failed.',
  DangerousCredential: 'Put right the Secret of `spec.dangerousCredentialsRef` of the account.',
  InternalError:
    'Look at the log of the operator for the details, and report them. The other resources are not held up by it.',
  DeletionBlocked:
    'Remove what the message names, such as alerts that use a contact point; or let only the resource go with `apphosting.dev/on-delete: Retain`.',
  ObjectMissing: 'Nothing: it is looked for again, and what follows depends on `spec.lifecycle.onMissing`.',
  InUse: 'Delete the resources that the message names, or give them time to go.',
  EnvironmentNotFound:
    "Create the environment in the service's console. It is bound within a poll; the annotation `apphosting.dev/reconcile-at` makes the operator look at once.",
  Preparing: byItself,
  InProgress: byItself,
  OperationInProgress:
    'Nothing: the request is sent when the other operation has ended, which `status.activeOperation` of the protection shows.',
  ClockUnsure: 'Set the clock of the node that the operator runs on (NTP). The message says which clocks differ.',
  CleanupPending: 'Nothing; it ends when the service has removed its leftovers.',
} as const satisfies Remedies;

const stalled = {
  InvalidSpec: 'Correct the field that the message names.',
  Rejected: 'Change what the service refuses; the message has its words.',
  Forbidden: 'Give the member of the token the permission that the message names, or use a token that has it.',
  Unauthorized: 'Put a valid token into the Secret of the account: [the runbook](runbooks/service-unauthorized.md).',
  UnexpectedResponse:
    'Does `baseUrl` lead to the service, and not to a proxy or a login page? If it does, the service has changed: update the operator, or report it.',
  AlreadyExists: 'Take it over with the line in the message, or choose another `spec.name` (`spec.appName`).',
  Ambiguous: 'Look in the service which one it is, and name its id in `spec.externalId`. Remove the others by hand.',
  Claimed: 'Delete one of the two resources, or let it name another object.',
  AdoptionNotAllowed:
    'Set `spec.lifecycle.adoption: ById` (or `ByName`) on the account, if this namespace may take it over; or do not name the id.',
  UnknownPreset: 'Use one of `status.catalog` of the account; the message names the nearest.',
  UnknownSolution: 'Use one of `status.catalog.solutions` of the account; the message names the nearest.',
  EnvironmentChanged:
    'If the environment was renamed by mistake, give it its old name back. Otherwise create a resource of another name for the environment as it is now; a MemberAccess needs only an edit of its spec.',
  UnknownRemoteStatus:
    'Look at the environment in the console. If all is well there, update the operator, or report the unknown value.',
  NeverDeployed: 'Deploy something: `spec.deploy`.',
  RollbackRefused: 'Name another content version, or deploy an image or a build instead.',
  DeployInDoubt:
    'Look up the running version in the console. To deploy again, change `apphosting.dev/redeploy-at` or what is deployed.',
  ApplyInDoubt:
    'Look in the console what the environments run. To send it again, change the field, or take `spec.applyImmediately` away and set it again.',
  DeployFailed:
    "Read the log of the deployment in the service's console; then change what is deployed, or set `apphosting.dev/redeploy-at` to try the same again.",
  PartiallyInstalled:
    'Mend the components as the message says. The installation is then continued; nothing is installed twice.',
  UpgradeInDoubt:
    'Look in the console which image runs. To try again, change `agentImage` in `spec.inputs`: to the image of before, and back when the resource is Ready.',
  InstallationIdUnknown:
    "Look in the console for the installation's id, and put it into `spec.externalId`; or delete the apps that the message names, to install again.",
  AccessWiderThanSpec: 'The message says whether the spec or the role of the member has to change.',
  Immutable: 'Take the change back, or create another resource as the message says.',
  NotFound: 'Is the id right, and can the token see it?',
  ObjectGone:
    'For a new and empty object, set `spec.lifecycle.onMissing: Recreate`, and remove `spec.externalId` if it names the old one. Otherwise delete the resource.',
  ChangeNotShown:
    'Look in the console what the service has. Does it not take the field, take it out of the spec and tell its support; then change the spec, or set `apphosting.dev/reconcile-at`, to go on.',
  Contested: 'Find who else writes the field: another cluster, a pipeline, a person. Change the spec to go on.',
  EndpointChanged:
    'If the address was changed by mistake, change it back. Otherwise accept it on the account: `apphosting.dev/accept-endpoint: HOST`.',
  HostNotAllowed:
    'Add the host to `--allowed-hosts`, or correct `baseUrl` in the Secret. A private address needs `--allow-private-addresses` too.',
  VisibilityLost:
    'Has the token lost a permission, or does it belong to another member now? Give it back. If the objects are really gone: annotate the account with a new value of `apphosting.dev/accept-missing`.',
  JournalDamaged:
    'Find out who writes status. Check what exists in the service; then remove `status.internal.journal`.',
  ConfigurationGone:
    'If the protection is still wanted, raise `spec.enrollment` as the message says; if not, delete it.',
  WipedByReset: 'If the protection is still wanted, raise `spec.enrollment` as the message says; if not, delete it.',
} as const satisfies Remedies;

const final = {
  ActivationDisabled:
    'Let the operator run with `--enable-activation` (the overlay `activation`), and then create another resource. This one stays as it is.',
  Expired: 'Create another one, with a `validUntil` in the future.',
  Superseded: 'Look at the protection, and make a new manifest: `apphosting activate NAME --point latest`.',
  DestinationMismatch: 'Create another one, with the names of `status.warmDestination` of the protection.',
  ActivationUnavailable: 'Remove what the message names, and create another one.',
  ConfirmationMismatch: 'Is it the right protection? Then create another one with the name that the message asks for.',
  AlreadyActivated: '[After an activation](runbooks/after-an-activation.md). No second one was begun.',
  OperationNotActive: 'Look at `status.activeOperation` of the protection. Nothing was sent.',
  OperationFailed: 'Read the message and the operation in the console; then create another one.',
} as const satisfies Remedies;

const aspects = {
  Synced: nothing,
  Drifted:
    'Nothing: it is corrected. With `drift: Report` or `managementPolicy: Observe`, change the spec or the service; `status.drift` lists the fields.',
  Throttling: '[The runbook](runbooks/budget-exhausted.md).',
  NotThrottled: nothing,
  Propagated: nothing,
  ChangesPending:
    'Deploy the environments with their AppEnvironments: `apphosting.dev/redeploy-at` is enough for settings, `preset`, `source` and the image need a new image or build. What others deploy does not show: then `spec.applyImmediately: true`, which deploys to all of them, ends the condition.',
  NoChangesPending: nothing,
  TokenSuffices: nothing,
  ToBeDoneByYou:
    'Do what `status.postInstallNote` says; then annotate it with `apphosting.dev/post-install-done: "true"`.',
  NothingToDo: nothing,
  NotDeployedYet: 'Nothing: the service may deploy the contact point to a region only with the first alert there.',
  Firing: 'What your alert is for.',
  Normal: nothing,
  Pending: byItself,
  NoData: 'Does the environment run, and does it have this metric?',
  EvaluationError: 'Look at the alert in the console.',
  AlertPaused: 'Set `spec.enabled: true` when it is to be evaluated.',
  NotRefreshed: byItself,
  StateStale:
    'With `refreshSeconds: 0` or `managementPolicy: Observe` only the service itself renews the state: set `refreshSeconds`. Otherwise look in the log of the operator for refreshes that fail.',
  UnknownAlertState: 'Look at the alert in the console; update the operator, or report the unknown value.',
  Running: nothing,
  Stopped: nothing,
  AsSpecified: nothing,
  AddedByOthers:
    'Is it meant? Then nothing. Otherwise set `onServiceAdd: Remove`, at least for a moment; or add it to the spec and remove it again.',
  NothingAdded: nothing,
  FeatureNotShown: 'Look in the console whether the account enforces access by environment.',
  RecoveryReady: nothing,
  NotProtected:
    'Wait until the protection is set up: its Ready condition says what it waits for, or that it is only observed.',
  NotEligible:
    'Change the field that the message names to one of the values that it lists; `status.source` has all of them.',
  NeedsAttention: '[The runbook](runbooks/protection-not-ready.md).',
  ChainRollover: byItself,
  CatchingUp: byItself,
  RpoExceeded:
    'Look at the snapshots in the console. Until there is a newer one, count on the newest point in `status.recoveryPoints`.',
  SustainedStandby: 'Nothing, but it costs more: the standard size is too small.',
  SeedBoost: byItself,
  UnknownState:
    'Look in the console at what the message names, or else at the protection; is it a word? Update the operator, or report it.',
  NotDisclosed:
    "Nothing here. See in the service's console what became of an activation. Its protection holds edits back until you delete the RecoveryActivation.",
  CaughtUp: nothing,
  ActivationPossible: nothing,
  NoRecoveryPoint: 'Wait for the first snapshot; if none comes, look at the protection in the console.',
  NothingPending: nothing,
  Accepted: nothing,
  NotSent: byItself,
  Promoted: '[After an activation](runbooks/after-an-activation.md).',
  NotPromoted: byItself,
  ScheduleEstablished: nothing,
  NoSchedule: 'Nothing: create RecoveryValidations when you want one.',
} as const satisfies Remedies;

/**
 * The chapters of docs/troubleshooting.md in order. Each chapter is a group of condition reasons, each with its remedy.
 */
export const chapters = { ready, waiting, stalled, final, aspects } as const;

const requests = ['RecoveryValidation', 'RecoveryActivation', 'ActivationDiscard', 'DisasterReset'];
const dangerous = ['RecoveryActivation', 'ActivationDiscard', 'DisasterReset'];
const recovery = ['DisasterProtection', ...requests];
const accounts = ['HostingAccount', 'ClusterHostingAccount'];
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
  ...only(['ContactPoint'], 'Propagated', 'NotDeployedYet'),
  ...only(['MetricAlert'], 'Firing', 'Normal', 'Pending', 'NoData', 'EvaluationError', 'AlertPaused', 'NotRefreshed'),
  ...only(['MetricAlert'], 'StateStale', 'UnknownAlertState'),
  ...only(['MemberAccess'], 'AccessWiderThanSpec', 'AsSpecified', 'FeatureNotShown', 'AddedByOthers', 'NothingAdded'),
  ...only(['DisasterProtection'], 'Preparing', 'ConfigurationGone', 'WipedByReset', 'RecoveryReady', 'NeedsAttention'),
  ...only(['DisasterProtection'], 'ChainRollover', 'CatchingUp', 'RpoExceeded', 'SustainedStandby', 'SeedBoost'),
  ...only(['DisasterProtection'], 'NotProtected', 'NotEligible'),
  ...only(['DisasterProtection'], 'CaughtUp', 'ActivationPossible', 'NoRecoveryPoint', 'NothingPending'),
  ...only(['DisasterProtection', 'RecoveryActivation'], 'NotDisclosed'),
  ...only(recovery, 'OperationInProgress', 'CleanupPending', 'AlreadyActivated'),
  ...only(recovery, 'ActivationUnavailable', 'UnknownState'),
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
 * All remedies: for each reason of a condition, a text that says what to do. A reason without a text is a type error.
 */
export const remedies: Readonly<Record<Reason, string>> = { ...ready, ...waiting, ...stalled, ...final, ...aspects };
