// Reads the bodies of requests about disaster readiness: checks only their form, and refuses unknown fields at every level.
import { type BodyFields, choice, fields, flag, list, must, number } from '../../http/fields.ts';
import { onlyTrue, orNull, type ReadFields, type Reads, text } from '../../http/fields.ts';
import { invalid } from '../../http/refusal.ts';
import { PHASES } from '../durations.ts';

const names = { envName: text({ min: 0 }), createNewApp: flag, appName: text({ min: 0 }) };

/** The names of a recovered environment and its app, as a request gives them. */
export type AskedNames = ReadFields<typeof names>;

const settings = {
  destinationRegion: text(),
  /** How copies are used. Cold: they are restored on demand. Warm: a standby applies every change as it comes. */
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
 * The settings of a protection, as a request gives them. An absent setting means its default; a storage of null means the storage of the
 * platform.
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

/** An item of a configure request, with the settings for one environment. */
export type ConfigureItem = ReadFields<typeof configureItem>;

const configureFields = fields({
  accountId: must(text()),
  common: must(fields(settings)),
  items: must(list(fields(configureItem), { min: 1, max: 100 })),
});

/** Reads the common settings and the items of a configure request; refuses two items about the same environment. */
export function configureBody(body: BodyFields): ReturnType<typeof configureFields> {
  const read = configureFields(body, '');
  if (new Set(read.items.map(({ sourceAppEnvId }) => sourceAppEnvId)).size < read.items.length) {
    throw invalid('items must be of distinct environments');
  }
  return read;
}

/** Reads a request for an isolated check. */
export const validateBody = fields(reference);

/** Reads an ISO 8601 date in UTC. */
const instant: Reads<number> = (value, name) => {
  const isUtc = typeof value === 'string' && /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?Z$/.test(value);
  const at = isUtc ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(at)) throw invalid(`${name} must be an ISO 8601 UTC timestamp`);
  return at;
};

/** Reads a request for an activation. It does not check whether the target may be left out. */
export const activateBody = fields({
  ...reference,
  target: orNull(fields(names)),
  selectedOperationId: must(text()),
  pointId: must(text({ min: 64, max: 64 })),
  cutoffAt: must(instant),
  writerSafetyAcknowledged: flag,
});

/** Reads a request to discard an activation; refuses the request without the literal acknowledgement. */
export const discardBody = fields({
  ...reference,
  operationId: must(text()),
  discardAcknowledged: must(onlyTrue),
});

/** Reads a request for a reset. */
export const resetBody = fields({
  accountId: must(text()),
  scope: must(choice(['environment', 'account'])),
  confirmationName: must(text()),
  sourceAppEnvId: text(),
});

const count = number({ min: 0, whole: true });

/** Reads the circumstances of a configuration that a control request sets; null removes what an earlier request set. */
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

/** The circumstances of a configuration that the control surface can set, such as a failing step. */
export type Circumstances = ReturnType<typeof circumstances>;

/** Reads the request that says how many snapshots to take. */
export const snapshots = fields({ count: number({ min: 1, max: 1_000, whole: true }) });
