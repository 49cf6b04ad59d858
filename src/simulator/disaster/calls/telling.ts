// The form of a request that tells a configuration its circumstances.
import { choice, fields, flag, list, must, number, orNull, type ReadFields, text } from '../../http/fields.ts';
import { instant } from './bodies.ts';
import { PHASES } from '../model.ts';

const count = number({ min: 0, whole: true });

const shape = {
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
};

/** A request of the control surface to one configuration; null takes back an earlier word. */
export type Circumstances = ReadFields<typeof shape>;

/** Reads such a request. */
export const circumstances = fields(shape);
