import type { z } from 'zod';
import type { KindIdentity } from '../../engine/kind/contract/define.ts';
import { drift, lifecycle, managementPolicy, specInAccount } from '../../engine/kind/schema/parts.ts';
import {
  withRule,
  withTransition,
  choice,
  facts,
  fields,
  flag,
  integer,
  listOf,
  serviceId,
  shown,
  text,
  time as timeShown,
} from '../../engine/kind/schema/schema.ts';
import * as recovery from '../recovery/schema.ts';
import { count, environmentRef, ofOneEnvironment, wholeNumber } from '../shared/schema.ts';

/** Maximum number of recovery points in status. */
export const mostPoints = 30;

const seconds = (description: string, word: string) =>
  integer(
    `${description}, in seconds; from one minute to 30 days. Default: the service's own. (interface: ${word}, in milliseconds)`,
    { min: 60, max: 2_592_000 },
  ).optional();

const storages = ['Inherited', 'Platform', 'Credential'] as const;

const Storage = withRule(
  fields('Where snapshots are kept. When absent, where the source keeps them.', {
    source: choice(
      'Inherited keeps them where the source does, Platform in the storage of the service, Credential in a storage of yours.',
      storages,
    ),
    credentialId: serviceId(
      'The id of the storage credential in the service (interface: storageCredentialId).',
    ).optional(),
  }),
  {
    rule: "(self.source == 'Credential') == has(self.credentialId)",
    message: 'credentialId is required when source is Credential, and only allowed then',
    fieldPath: '.credentialId',
    check: ({ source, credentialId }) => (source === 'Credential') === (credentialId !== undefined),
  },
);

const Fields = specInAccount('Which environment is protected, where, and how well.', {
  environmentRef: environmentRef('sourceAppEnvId'),
  destinationRegion: text("The region to recover in. Default: the service's own choice.", {
    min: 1,
    max: 128,
  }).optional(),
  protectionMode: choice(
    "Cold keeps snapshots only, Warm also keeps a standby that applies them. Default: the service's own choice. (interface: mode)",
    ['Cold', 'Warm'],
  ).optional(),
  storage: Storage.optional(),
  snapshotIntervalSeconds: seconds(
    'How often a snapshot is taken; the service supports certain intervals only',
    'snapshotIntervalMs',
  ),
  validationIntervalSeconds: seconds('How often a recovery is tried in isolation', 'validationIntervalMs'),
  rpoTargetSeconds: seconds('How old the newest recovery point may be', 'rpoTargetMs'),
  rtoTargetSeconds: seconds('How long a recovery may take', 'rtoTargetMs'),
  acknowledgements: recovery
    .acknowledgements(
      'The risks that you accept. SameRegion: the region to recover in is the region of the source (interface: sameRegionAcknowledged).',
      ['SameRegion'],
    )
    .optional(),
  target: recovery
    .target('The names for what is recovered. Required when protectionMode is Warm, and for databases.')
    .optional(),
  enrollment: integer(
    'Raise it to protect the environment again after its configuration is gone. It can only grow. Default: 1.',
    { min: 1, max: 1_000_000 },
  ).optional(),
  lifecycle: lifecycle({
    managementPolicy,
    adoption: choice(
      'Whether this resource may take over a configuration of its environment that it did not create: Never, or ById where the account allows it. Default: ById.',
      ['Never', 'ById'],
    ).optional(),
    drift,
  }),
});

/** The spec of a DisasterProtection, which protects one environment against the loss of its region. */
export const DisasterProtectionSpec = withTransition(
  withRule(ofOneEnvironment(Fields, 'cannot be changed: a protection belongs to its environment; create another one'), {
    rule: "!has(self.protectionMode) || self.protectionMode != 'Warm' || has(self.target)",
    message: 'target is required when protectionMode is Warm: the destination is prepared at once',
    fieldPath: '.target',
    reason: 'FieldValueRequired',
    check: (spec) => spec.protectionMode !== 'Warm' || spec.target !== undefined,
  }),
  {
    rule: 'self.?enrollment.orValue(1) >= oldSelf.?enrollment.orValue(1)',
    message: 'enrollment can only be raised',
    fieldPath: '.enrollment',
    reason: 'FieldValueInvalid',
  },
);
export type DisasterProtectionSpec = z.output<typeof DisasterProtectionSpec>;

const { time } = recovery;
const word = (description: string) => text(description, { max: 128 });
const id = (description: string) => text(description, { max: 128 }).optional();

const Settings = shown('Settings as the service shows them.', {
  destinationRegion: word('The region to recover in.').optional(),
  protectionMode: word('Cold or Warm; any other word as the service has it.').optional(),
  storage: shown('Where snapshots are kept.', {
    source: choice(
      'Inherited is where the source keeps its own, which the service does not show; Platform is the storage of the service, Credential a storage of yours.',
      storages,
    ),
    credentialId: id('The id of the storage credential.'),
  }).optional(),
  snapshotIntervalSeconds: count('How often a snapshot is taken, in seconds.'),
  validationIntervalSeconds: count('How often a recovery is tried, in seconds.'),
  rpoTargetSeconds: count('How old the newest recovery point may be, in seconds.'),
  rtoTargetSeconds: count('How long a recovery may take, in seconds.'),
  sameRegionAcknowledged: flag('Whether the same region was acknowledged.').optional(),
});

const RecoveryPoint = shown('A recovery point: what an activation must name.', {
  selectedOperationId: word('The operation that made it.'),
  pointId: word('Its id.'),
  cutoffTime: timeShown(
    'The moment up to which data is recovered, exactly as the service writes it (interface: cutoffAt).',
  ),
  configurationGeneration: wholeNumber(
    'The generation of the configuration when the service listed the point (interface: generation).',
  ),
  availabilityRequiresVerification: flag('Whether the service verifies it only when it is used.').optional(),
  sizing: recovery.sizing.optional(),
});

const Source = shown('The environment as a source of recovery.', {
  eligible: flag('Whether it can be protected.').optional(),
  appName: text('The name of its app.', { max: 256 }).optional(),
  environmentName: text('The name of the environment.', { max: 256 }).optional(),
  region: word('Where it runs.').optional(),
  eligibleDestinations: listOf('The regions that it can be recovered in.', word('A region.'), { max: 50 }).optional(),
  unsupportedReasons: listOf(
    'Why it cannot be protected.',
    text('A reason in words, with the code of the service; a code that the operator does not know is quoted.', {
      max: 256,
    }),
    { max: 50 },
  ).optional(),
  volumes: listOf(
    'Its volumes.',
    shown('A volume.', {
      name: word('Its name.'),
      eligible: flag('Whether it can be protected.').optional(),
      reason: text('Why it cannot be protected, in the words of unsupportedReasons.', { max: 256 }).optional(),
    }),
    { max: 50 },
  ).optional(),
  suggestedSettings: Settings.optional(),
  target: shown('The standby, or the recovered environment.', {
    environmentId: id('The id of the environment (interface: appEnvId).'),
    appId: id('The id of its app.'),
    appName: text('The name of its app.', { max: 256 }).optional(),
    environmentName: text('The name of the environment.', { max: 256 }).optional(),
  }).optional(),
  pendingCleanup: recovery.pendingCleanup,
});

/** The status of a DisasterProtection. A field that the service does not disclose is absent. */
export const DisasterProtectionFacts = facts({
  environmentId: id('The id of the protected environment (interface: sourceAppEnvId).'),
  configurationGeneration: wholeNumber('The generation of the configuration (interface: generation).').optional(),
  settings: Settings.optional(),
  enrollment: count('The newest value of spec.enrollment that was sent.'),
  firstReadyTime: time('When the service said for the first time that recovery is ready.'),
  goneTime: time('When it was proved that the configuration is gone; absent again once the service shows it.'),
  wipedBy: text('The DisasterReset that wiped the configuration.', { max: 512 }).optional(),
  readiness: shown('Whether a recovery would work, by the service.', {
    state: word('The state.').optional(),
    reason: word('Why.').optional(),
    warnings: listOf('Warnings.', word('A warning.'), { max: 50 }).optional(),
    cutoffTime: time('The moment of the newest data that can be recovered (interface: cutoffAt).'),
    recoveryPointAgeSeconds: count(
      'How old that was when the state last changed, in seconds (interface: recoveryPointAgeMs).',
    ),
  }).optional(),
  standby: shown('The standby of a warm protection.', {
    shape: word('Its size.').optional(),
    reason: word('Why it has that size.').optional(),
    caughtUp: flag('Whether it has applied all changes.').optional(),
    lastApplySeconds: count('How long the last changes took to apply, when the state last changed.'),
    lastApplyBytes: wholeNumber('How many bytes the last changes had.').optional(),
  }).optional(),
  activeOperation: recovery.operation('What the service does at present.').optional(),
  warmValidationOperationId: id(
    'The id of an operation by which the service hints that an isolated validation may be requested.',
  ),
  warmRecoveryOperationId: id('The id of an operation by which the service hints that the standby may be taken over.'),
  warmDestination: recovery.destination('The names of the warm destination; an activation must use exactly these.'),
  plannedDestination: recovery.destination('The names that are saved for a cold activation.'),
  activationUnavailableReason: text('Why the source cannot be activated yet.', { max: 256 }).optional(),
  activationResult: recovery.activationResult('What the last activation brought.'),
  canRequestDiscard: flag('Whether the service says that an activation can be discarded; only a hint.').optional(),
  validationSchedule: shown('The schedule of validations.', {
    established: flag('Whether validations run by schedule (interface: validationScheduleEstablished).').optional(),
    nextValidationTime: time('When the next validation is due.'),
    nextSnapshotTime: time('When the next snapshot is due.'),
  }).optional(),
  recoveryPoints: listOf(
    'The newest recovery points, and a spread back in time (hours, days, weeks, the oldest); `truncated` says how many there are, and `apphosting points` lists all.',
    RecoveryPoint,
    { max: mostPoints },
  ).optional(),
  operations: listOf('The last operations, newest first.', recovery.operation('An operation.'), {
    max: 20,
  }).optional(),
  source: Source.optional(),
  pendingCleanup: recovery.pendingCleanup,
});
export type DisasterProtectionFacts = z.output<typeof DisasterProtectionFacts>;

/** Describes DisasterProtection to the generator of manifests, permissions and reference pages. */
export const identity = {
  kind: 'DisasterProtection',
  plural: 'disasterprotections',
  shortNames: ['dprot'],
  scope: 'Namespaced',
  summary: 'Protection of one environment against the loss of its region.',
  life: 'long',
  spec: DisasterProtectionSpec,
  facts: DisasterProtectionFacts,
  idWord: 'configurationId',
  holds: false,
  columns: [
    {
      name: 'RECOVERY-READY',
      path: '.status.conditions[?(@.type=="RecoveryReady")].status',
      description: 'Whether the service says that a recovery would work.',
    },
    { name: 'MODE', path: '.status.settings.protectionMode', description: 'Cold or Warm, as the service has it.' },
    { name: 'REGION', path: '.status.settings.destinationRegion', description: 'The region to recover in.' },
    { name: 'STAGE', path: '.status.activeOperation.stage', description: 'What its current operation does now.' },
    {
      name: 'SINCE',
      path: '.status.conditions[?(@.type=="RecoveryReady")].lastTransitionTime',
      type: 'date',
      description: 'How long RECOVERY-READY has had this value.',
    },
    {
      name: 'LAST-POINT',
      path: '.status.recoveryPoints[0].cutoffTime',
      type: 'date',
      description: 'How old the data of the newest recovery point is.',
    },
    {
      name: 'STATE',
      path: '.status.readiness.state',
      wide: true,
      description: 'How the service calls its readiness.',
    },
    { name: 'STORAGE', path: '.status.settings.storage.source', wide: true, description: 'Where snapshots are kept.' },
  ],
  selectable: [
    '.spec.environmentRef.name',
    '.spec.protectionMode',
    '.spec.destinationRegion',
    '.status.environmentId',
    '.status.externalId',
    '.status.readiness.state',
  ],
} satisfies KindIdentity;
