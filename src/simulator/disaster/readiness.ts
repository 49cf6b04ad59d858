// Computes the readiness of a protection whenever a request asks for it. Unknown, expired or failed evidence is never ready.
import { HOUR } from './durations.ts';
import type { Configuration, RecoveryPoint } from './model.ts';
import { protectedPoint } from './evidence.ts';
import { isExcuse } from './told-readiness.ts';
import { fallenBehind, makesNoProgress } from './standby.ts';

/** For how long a full copy, or a standby that catches up, excuses that the newest point is older than the RPO target. */
const EXCUSE_MS = 12 * HOUR;

/** After how many validation intervals the result of a check expires. */
const VALIDATION_EXPIRES_AFTER_INTERVALS = 2;

/** The readiness of a protection: its state, and the reason where it is not ready. */
export interface Readiness {
  readonly state: string;
  readonly reason?: string | undefined;
  readonly warnings: readonly string[];
  readonly cutoffAt?: number;
  readonly recoveryPointAgeMs?: number;
}

/** Computes the readiness of a configuration at a time. */
export function readinessAt(configuration: Configuration, now: number): Readiness {
  const point = protectedPoint(configuration);
  const age = point === undefined ? {} : { cutoffAt: point.cutoffAt, recoveryPointAgeMs: now - point.cutoffAt };
  const warnings = configuration.told.readiness?.warnings ?? warningsOf(configuration);
  return { ...verdict(configuration, point, now), warnings, ...age };
}

type Verdict = Pick<Readiness, 'state' | 'reason'>;

function verdict(configuration: Configuration, point: RecoveryPoint | undefined, now: number): Verdict {
  if (configuration.fencedAt !== undefined) return needsAttention('resetPending');
  const told = configuration.told.readiness;
  if (told !== undefined) return outlastsExcuse(configuration, { state: told.state, reason: told.reason }, point, now);
  return (
    fromEnrollment(configuration) ??
    fromLastCheck(configuration) ??
    fromStandby(configuration, point, now) ??
    fromAge(configuration, point, now) ??
    fromValidationAge(configuration, now) ?? {
      state: 'ready',
    }
  );
}

function needsAttention(reason: string): Verdict {
  return { state: 'needsAttention', reason };
}

function fromEnrollment(configuration: Configuration): Verdict | undefined {
  const latest = configuration.operations.findLast(({ kind }) => kind === 'enrollment');
  if (latest?.outcome === 'failed') return { state: 'failed', reason: 'enrollmentFailed' };
  const preparing = latest !== undefined && latest.endedAt === undefined && latest.stepDueAt !== undefined;
  return preparing || !configuration.enrolled ? { state: 'preparing' } : undefined;
}

function fromLastCheck({ lastCheck }: Configuration): Verdict | undefined {
  if (lastCheck?.result === 'fail') return { state: 'failed', reason: 'validationFailed' };
  if (lastCheck?.result === 'cleanupUnverifiable') return needsAttention('cleanupUnverifiable');
  return undefined;
}

function fromStandby(configuration: Configuration, point: RecoveryPoint | undefined, now: number): Verdict | undefined {
  const { settings, standby } = configuration;
  if (settings.mode === 'cold') return undefined;
  if (standby === undefined) return needsAttention('standbyActivated');
  if (!fallenBehind(standby)) return undefined;
  const late = isOlderThan(point, settings.rpoTargetMs, now);
  if (late && makesNoProgress(configuration, now)) return needsAttention('rpoExceeded');
  return outlastsExcuse(configuration, needsAttention('catchingUp'), point, now);
}

function fromAge(configuration: Configuration, point: RecoveryPoint | undefined, now: number): Verdict | undefined {
  if (!isOlderThan(point, configuration.settings.rpoTargetMs, now)) return undefined;
  const excused = configuration.rollover === undefined ? 'rpoExceeded' : 'chainRollover';
  return outlastsExcuse(configuration, needsAttention(excused), point, now);
}

function fromValidationAge({ lastCheck, settings }: Configuration, now: number): Verdict | undefined {
  const at = lastCheck?.at ?? Number.NEGATIVE_INFINITY;
  const expired = now - at > VALIDATION_EXPIRES_AFTER_INTERVALS * settings.validationIntervalMs;
  return expired ? needsAttention('validationExpired') : undefined;
}

/** Replaces a reason that excuses a missed RPO target by the missed target itself, once the point is too old for an excuse. */
function outlastsExcuse(
  configuration: Configuration,
  said: Verdict,
  point: RecoveryPoint | undefined,
  now: number,
): Verdict {
  if (point === undefined || !isExcuse(said.state, said.reason)) return said;
  return isOlderThan(point, configuration.settings.rpoTargetMs + EXCUSE_MS, now) ? needsAttention('rpoExceeded') : said;
}

function isOlderThan(point: RecoveryPoint | undefined, ageMs: number, now: number): boolean {
  return point === undefined || now - point.cutoffAt > ageMs;
}

function warningsOf({ standby }: Configuration): readonly string[] {
  if (standby?.shape === 'seedBoost') return ['seedBoost'];
  return standby?.shape === 'sustained' ? ['sustainedStandby'] : [];
}
