// Validates the bodies of disaster-readiness requests. Looks only at the body, not at stored data, and rejects unknown fields at every
// level.
import { type BodyFields, choice, fields, flag, list, must, number } from '../../http/fields.ts';
import { onlyTrue, orNull, type ReadFields, type Reads, text } from '../../http/fields.ts';
import { invalid } from '../../http/refusal.ts';
import { PHASES } from './durations.ts';

const names = { envName: text({ min: 0 }), createNewApp: flag, appName: text({ min: 0 }) };

/** The `target` names in a request: the recovered environment and its app. */
export type AskedNames = ReadFields<typeof names>;

const settings = {
  destinationRegion: text(),
  /**
   * Cold: copies are restored only when a recovery is requested. Warm: a standby environment continuously applies every change of the
   * source.
   */
  mode: choice(['cold', 'warm']),
  storageCredentialId: orNull(text()),
  snapshotIntervalMs: number(),
  validationIntervalMs: number(),
  rpoTargetMs: number(),
  rtoTargetMs: number(),
  sameRegionAcknowledged: flag,
  target: fields(names),
};

/**
 * The settings of a protection, as a request sends them. A missing setting means its default value. Without
 * storageCredentialId, the copies use the storage of the source; null means the storage of the platform.
 */
export type AskedSettings = ReadFields<typeof settings>;

const generation = number({ min: 0, whole: true });
const reference = {
  accountId: must(text()),
  configurationId: must(text()),
  expectedGeneration: must(generation),
  requestId: must(text()),
};

const configureItem = {
  ...settings,
  sourceAppEnvId: must(text()),
  requestId: must(text()),
  expectedGeneration: must(generation),
};

/** An item of a configure request: the settings for the protection of one environment. */
export type ConfigureItem = ReadFields<typeof configureItem>;

const configureFields = fields({
  accountId: must(text()),
  common: must(fields(settings)),
  items: must(list(fields(configureItem), { min: 1, max: 100 })),
});

/**
 * Validates the common settings and the items of a configure request; refuses a request in which two items are for the same environment.
 */
export function configureBody(body: BodyFields): ReturnType<typeof configureFields> {
  const read = configureFields(body, '');
  if (new Set(read.items.map(({ sourceAppEnvId }) => sourceAppEnvId)).size < read.items.length)
    throw invalid('no two items may have the same sourceAppEnvId');
  return read;
}

/** Validates the body of POST /disaster-readiness/validate. */
export const validateBody = fields(reference);

/** Validates an ISO 8601 date in UTC and converts it to milliseconds. */
const instant: Reads<number> = (value, name) => {
  const isUtc = typeof value === 'string' && /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?Z$/.test(value);
  const at = isUtc ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(at)) throw invalid(`${name} must be an ISO 8601 UTC timestamp`);
  return at;
};

/**
 * Validates the body of POST /disaster-readiness/activate. A missing target is accepted here and rejected later,
 * because the API does not document the status of this error: the simulator option `rejection.status` sets it.
 */
export const activateBody = fields({
  ...reference,
  target: orNull(fields(names)),
  selectedOperationId: must(text()),
  pointId: must(text({ min: 64, max: 64 })),
  cutoffAt: must(instant),
  writerSafetyAcknowledged: flag,
});

/** Validates the body of POST /disaster-readiness/discard-activation; `discardAcknowledged` must be true. */
export const discardBody = fields({ ...reference, operationId: must(text()), discardAcknowledged: must(onlyTrue) });

/** Validates the body of POST /disaster-readiness/reset. */
export const resetBody = fields({
  accountId: must(text()),
  scope: must(choice(['environment', 'account'])),
  confirmationName: must(text()),
  sourceAppEnvId: text(),
});

const count = number({ min: 0, whole: true });

/**
 * Validates the body of PATCH /_sim/configurations/ID, which simulates conditions such as failing steps; null removes a condition that an
 * earlier request set.
 */
export const circumstances = fields({
  readiness: orNull(fields({ state: must(text()), reason: text(), warnings: list(text()) })),
  standby: fields({ shape: choice(['standard', 'seedBoost', 'sustained']), reason: orNull(text()), caughtUp: flag }),
  failSteps: count,
  hold: flag,
  engineUnavailableReason: orNull(text()),
  nextPhase: flag,
  setPhase: choice(PHASES),
  nextValidation: orNull(choice(['pass', 'fail', 'cleanupUnverifiable'])),
  pendingCleanup: orNull(
    fields({ pendingCount: count, retainedDiskCount: count, retryingCount: count, earliestRetentionUntil: instant }),
  ),
  validationCleanup: orNull(
    fields({ observedAt: must(instant), retentionUntil: instant, retentionPending: must(flag) }),
  ),
  applySeconds: number({ min: 0 }),
  firstCopyBytes: number({ min: 0 }),
});

/** The conditions that PATCH /_sim/configurations/ID can simulate for a disaster-readiness configuration, such as failing steps. */
export type Circumstances = ReturnType<typeof circumstances>;

/** Validates the body of POST /_sim/configurations/ID/points, which contains the number of snapshots to take. */
export const snapshots = fields({ count: number({ min: 1, max: 1_000, whole: true }) });
