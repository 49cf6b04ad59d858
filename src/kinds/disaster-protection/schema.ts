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
    `${description}, in seconds; from one minute to 30 days. Default: the default of the service. (API field: ${word}, in milliseconds)`,
    { min: 60, max: 2_592_000 },
  ).optional();

const storages = ['Inherited', 'Platform', 'Credential'] as const;

const Storage = withRule(
  fields('The storage for snapshots. If absent, the service uses the storage of the source.', {
    source: choice(
      'Inherited: the storage of the source. Platform: the storage of the service. Credential: your own storage, named by credentialId.',
      storages,
    ),
    credentialId: serviceId('The id of the credential of your storage (API field: storageCredentialId).').optional(),
  }),
  {
    rule: "(self.source == 'Credential') == has(self.credentialId)",
    message: 'credentialId is required when source is Credential, and is not allowed otherwise',
    fieldPath: '.credentialId',
    check: ({ source, credentialId }) => (source === 'Credential') === (credentialId !== undefined),
  },
);

const Fields = specInAccount(
  'The environment to protect, the region to recover in, and the settings of the protection.',
  {
    environmentRef: environmentRef('sourceAppEnvId'),
    destinationRegion: text('The region to recover in. Default: chosen by the service.', {
      min: 1,
      max: 128,
    }).optional(),
    protectionMode: choice(
      'Cold keeps only snapshots. Warm also keeps a standby that applies the snapshots. Default: the service chooses the mode. (API field: mode)',
      ['Cold', 'Warm'],
    ).optional(),
    storage: Storage.optional(),
    snapshotIntervalSeconds: seconds(
      'Interval between snapshots (the service accepts only some intervals)',
      'snapshotIntervalMs',
    ),
    validationIntervalSeconds: seconds('Interval between validations in isolation', 'validationIntervalMs'),
    rpoTargetSeconds: seconds('Maximum age of the newest recovery point', 'rpoTargetMs'),
    rtoTargetSeconds: seconds('Maximum duration of a recovery', 'rtoTargetMs'),
    acknowledgements: recovery
      .acknowledgements(
        'The risks that you accept. SameRegion: the region to recover in is the region of the source (API field: sameRegionAcknowledged).',
        ['SameRegion'],
      )
      .optional(),
    target: recovery
      .target('The names for the recovered environment and its app. Required for databases and protectionMode Warm.')
      .optional(),
    enrollment: integer(
      'Raise this number to protect the environment again after its configuration is gone. The number cannot be lowered. Default: 1.',
      { min: 1, max: 1_000_000 },
    ).optional(),
    lifecycle: lifecycle({
      managementPolicy,
      adoption: choice(
        'ById: this resource can adopt an existing configuration of its environment that it did not create, if the account allows adoption by id. Never: this resource cannot adopt such a configuration. Default: ById.',
        ['Never', 'ById'],
      ).optional(),
      drift,
    }),
  },
);

/** The spec of a DisasterProtection, which protects one environment against the loss of its region. */
export const DisasterProtectionSpec = withTransition(
  withRule(ofOneEnvironment(Fields, 'create another DisasterProtection'), {
    rule: "!has(self.protectionMode) || self.protectionMode != 'Warm' || has(self.target)",
    message: 'target is required when protectionMode is Warm, because the service prepares the destination at once',
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

const Settings = shown('The settings of the protection, as the service shows them.', {
  destinationRegion: word('The region to recover in, as the service shows it.').optional(),
  protectionMode: word('Cold, Warm, or another mode that the service shows.').optional(),
  storage: shown('The storage for snapshots.', {
    source: choice(
      'Inherited: the storage of the source environment (the response of the service has no storageCredentialId). Platform: the storage of the service. Credential: your own storage.',
      storages,
    ),
    credentialId: id('The id of the credential for your own storage.'),
  }).optional(),
  snapshotIntervalSeconds: count('Interval between snapshots, in seconds.'),
  validationIntervalSeconds: count('Interval between validations, in seconds.'),
  rpoTargetSeconds: count('Maximum age of the newest recovery point, in seconds.'),
  rtoTargetSeconds: count('Maximum duration of a recovery, in seconds.'),
  sameRegionAcknowledged: flag('True if the user accepted a recovery in the region of the source.').optional(),
});

const RecoveryPoint = shown('A recovery point, with the values that a RecoveryActivation must copy.', {
  selectedOperationId: word('The id of the operation that created the recovery point.'),
  pointId: word('The id of the recovery point: 64 hex digits.'),
  cutoffTime: timeShown('Time up to which data is recovered, exactly as the service writes it (API field: cutoffAt).'),
  configurationGeneration: wholeNumber(
    'The generation of the configuration that the service gave in its list of recovery points (API field: generation).',
  ),
  availabilityRequiresVerification: flag('True if the service verifies the point only when it is used.').optional(),
  sizing: recovery.sizing.optional(),
});

const Source = shown('The environment to protect, as the service describes it.', {
  eligible: flag('True if the service can protect the environment.').optional(),
  appName: text('The name of the app of the environment.', { max: 256 }).optional(),
  environmentName: text('The name of the environment.', { max: 256 }).optional(),
  region: word('The region in which the environment runs.').optional(),
  eligibleDestinations: listOf('The regions to recover in.', word('The name of a region.'), { max: 50 }).optional(),
  unsupportedReasons: listOf(
    'The reasons why the service cannot protect the environment.',
    text(
      'The reason in words, with the reason code of the service in brackets. If the operator does not know the code, this field has only the code, in quotation marks.',
      { max: 256 },
    ),
    { max: 50 },
  ).optional(),
  volumes: listOf(
    'The volumes of the environment.',
    shown('A volume of the environment.', {
      name: word('The name of the volume.'),
      eligible: flag('True if the service can protect the volume.').optional(),
      reason: text('The reason why the service cannot protect the volume.', { max: 256 }).optional(),
    }),
    { max: 50 },
  ).optional(),
  suggestedSettings: Settings.optional(),
  target: shown('The standby of a warm protection, or the recovered environment after an activation.', {
    environmentId: id('The id of the standby or recovered environment (API field: appEnvId).'),
    appId: id('The id of the app of the standby or recovered environment.'),
    appName: text('The name of the app of the environment.', { max: 256 }).optional(),
    environmentName: text('The name of the environment.', { max: 256 }).optional(),
  }).optional(),
  pendingCleanup: recovery.pendingCleanup,
});

/**
 * The status of a DisasterProtection. While the service shows the configuration, most fields that it does not show are
 * absent. The source, the recovery points and the operations that RecoveryActivations began keep their last known
 * values. While the service does not show the configuration, all fields keep their last known values, until the operator
 * is sure that the configuration is gone.
 */
export const DisasterProtectionFacts = facts({
  environmentId: id('The id of the protected environment (API field: sourceAppEnvId).'),
  configurationGeneration: wholeNumber('The generation of the configuration (API field: generation).').optional(),
  settings: Settings.optional(),
  enrollment: count('The highest value of spec.enrollment that the operator has acted on.'),
  firstReadyTime: time('Time at which the service first showed that recovery is ready.'),
  goneTime: time('Time at which the operator became sure that the configuration was gone.'),
  wipedBy: text('The name of the DisasterReset that wiped the configuration.', { max: 512 }).optional(),
  readiness: shown("The service's judgement on whether a recovery would work.", {
    state: word('The state of the readiness for a recovery, such as ready.').optional(),
    reason: word('The reason for the current readiness state.').optional(),
    warnings: listOf('Warnings about whether a recovery would work.', word('A warning.'), { max: 50 }).optional(),
    cutoffTime: time('Time up to which data can be recovered from the newest recovery point (API field: cutoffAt).'),
    recoveryPointAgeSeconds: count(
      'Age of the newest recovery point, in seconds (API field: recoveryPointAgeMs). The operator does not update status when only this age changes.',
    ),
  }).optional(),
  standby: shown('The standby of a warm protection.', {
    shape: word('The size of the standby.').optional(),
    reason: word('The reason why the standby has this size.').optional(),
    caughtUp: flag('True if the standby has applied all changes.').optional(),
    lastApplySeconds: count(
      'Seconds that the standby took to apply the most recent changes. The operator does not update status when only this number changes.',
    ),
    lastApplyBytes: wholeNumber('Size of the most recent changes that the standby applied, in bytes.').optional(),
  }).optional(),
  activeOperation: recovery.operation('The operation that the service is working on.').optional(),
  warmValidationOperationId: id(
    'The id of the operation that keeps the standby up to date. Present while the service indicates that a RecoveryValidation can be requested.',
  ),
  warmRecoveryOperationId: id(
    'The id of the operation that keeps the standby up to date. Present while the service indicates that a RecoveryActivation can be requested.',
  ),
  warmDestination: recovery.destination(
    'The names that a RecoveryActivation of a warm protection must use for the recovered environment.',
  ),
  plannedDestination: recovery.destination('The names saved for the recovered environment of a cold protection.'),
  activationUnavailableReason: text('The reason why the service refuses activations now.', { max: 256 }).optional(),
  activationResult: recovery.activationResult('The result of the last activation.'),
  canRequestDiscard: flag(
    'True once the service reports that it accepted a discard of the activation. This does not prove that the activation is discarded.',
  ).optional(),
  validationSchedule: shown('The schedule of validations and snapshots.', {
    established: flag('True if validations run on a schedule (API field: validationScheduleEstablished).').optional(),
    nextValidationTime: time('Time at which the next validation is due.'),
    nextSnapshotTime: time('Time at which the next snapshot is due.'),
  }).optional(),
  recoveryPoints: listOf(
    'The newest recovery points, some that are hours, days and weeks older, and the oldest. If this list is shortened, `truncated` has the total number; `apphosting points` lists all recovery points.',
    RecoveryPoint,
    { max: mostPoints },
  ).optional(),
  operations: listOf(
    'The last operations on the configuration, newest first.',
    recovery.operation('An operation on the configuration.'),
    { max: 20 },
  ).optional(),
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
  summary: 'Protects one environment against the loss of its region.',
  life: 'long',
  spec: DisasterProtectionSpec,
  facts: DisasterProtectionFacts,
  idWord: 'configurationId',
  holds: false,
  columns: [
    {
      name: 'RECOVERY-READY',
      path: '.status.conditions[?(@.type=="RecoveryReady")].status',
      description: 'True if the service says that recovery is ready.',
    },
    { name: 'MODE', path: '.status.settings.protectionMode', description: 'The mode: Cold or Warm.' },
    { name: 'REGION', path: '.status.settings.destinationRegion', description: 'The region to recover in.' },
    { name: 'STAGE', path: '.status.activeOperation.stage', description: 'The stage of the active operation.' },
    {
      name: 'SINCE',
      path: '.status.conditions[?(@.type=="RecoveryReady")].lastTransitionTime',
      type: 'date',
      description: 'Time without change.',
    },
    {
      name: 'LAST-POINT',
      path: '.status.recoveryPoints[0].cutoffTime',
      type: 'date',
      description: 'Age of the newest recovery point.',
    },
    {
      name: 'STATE',
      path: '.status.readiness.state',
      wide: true,
      description: 'The readiness state, as the service reports it.',
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
