// Computes the readiness of a disaster-readiness configuration anew at each request. Unless a control request (/_sim)
// sets the readiness, a configuration is not ready if its latest validation failed or has expired, or if the cleanup of
// this validation cannot be verified.
import { HOUR } from './durations.ts';
import type { Configuration, RecoveryPoint, Standby, StatedReadiness } from './model.ts';
import { fallenBehind, isExcuse, makesNoProgress, protectedPoint } from './copies.ts';
import { isBusy } from './operations.ts';

/**
 * How long a readiness may keep the reason `chainRollover` or `catchingUp` after an RPO target is missed. After this
 * time, the reason becomes `rpoExceeded`.
 */
const EXCUSE_MS = 12 * HOUR;

/** Number of validation intervals after which the result of a validation expires. */
const VALIDATION_EXPIRES_AFTER_INTERVALS = 2;

/**
 * Computes the readiness of a configuration at the time `now`: its state, the reason if there is one, its warnings, and the age of the
 * protected recovery point.
 */
export function readinessAt(configuration: Configuration, now: number) {
  const { told, standby } = configuration;
  const point = protectedPoint(configuration);
  const { state, reason } = verdict(configuration, point, now);
  const warnings = told.readiness?.warnings ?? warningsOf(standby);
  const recoveryPointAgeMs = point && now - point.cutoffAt;
  return { state, reason, warnings, cutoffAt: point?.cutoffAt, recoveryPointAgeMs };
}

/**
 * Returns the readiness state of a configuration and its reason. The conditions are checked one after the other, and the first one that is
 * met decides.
 */
function verdict(configuration: Configuration, point: RecoveryPoint | undefined, now: number): StatedReadiness {
  const { told, operations, enrolled, lastCheck, settings, standby, rollover } = configuration;
  const enrollment = operations.findLast(({ kind }) => kind === 'enrollment');
  const isPointOlderThan = (ms: number) => point === undefined || now - point.cutoffAt > ms;
  const isLate = isPointOlderThan(settings.rpoTargetMs);
  const checkedAt = lastCheck?.at ?? Number.NEGATIVE_INFINITY;
  /**
   * Replaces the reason `chainRollover` or `catchingUp` with `rpoExceeded` once the age of the protected recovery point
   * exceeds the RPO target by more than 12 hours.
   */
  const excused = (said: StatedReadiness) =>
    point !== undefined && isExcuse(said) && isPointOlderThan(settings.rpoTargetMs + EXCUSE_MS)
      ? needsAttention('rpoExceeded')
      : said;

  if (configuration.fencedAt !== undefined) return needsAttention('resetPending');
  if (told.readiness !== undefined) return excused(told.readiness);
  if (enrollment?.outcome === 'failed') return { state: 'failed', reason: 'enrollmentFailed' };
  if (!enrolled || (enrollment && isBusy(enrollment))) return { state: 'preparing' };
  if (lastCheck?.result === 'fail') return { state: 'failed', reason: 'validationFailed' };
  if (lastCheck?.result === 'cleanupUnverifiable') return needsAttention('cleanupUnverifiable');
  if (settings.mode === 'warm' && standby === undefined) return needsAttention('standbyActivated');
  if (standby !== undefined && fallenBehind(standby)) {
    const isStuck = isLate && makesNoProgress(configuration, now);
    return isStuck ? needsAttention('rpoExceeded') : excused(needsAttention('catchingUp'));
  }
  if (isLate) return excused(needsAttention(rollover === undefined ? 'rpoExceeded' : 'chainRollover'));
  const expiresAt = checkedAt + VALIDATION_EXPIRES_AFTER_INTERVALS * settings.validationIntervalMs;
  return now > expiresAt ? needsAttention('validationExpired') : { state: 'ready' };
}

function needsAttention(reason: string): StatedReadiness {
  return { state: 'needsAttention', reason };
}

function warningsOf(standby: Standby | undefined): readonly string[] {
  if (standby?.shape === 'seedBoost') return ['seedBoost'];
  return standby?.shape === 'sustained' ? ['sustainedStandby'] : [];
}
