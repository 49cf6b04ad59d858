// The settings of a protection: their limits, and the defaults of those that are left out.
import { DAY, HOUR, MINUTE } from './durations.ts';
import type { AskedNames, AskedSettings } from './calls/bodies.ts';
import type { Configuration, ConfigurationSettings, RetainedSource, Storage, TargetNames } from './model.ts';

const SNAPSHOT_SCHEDULES: readonly number[] = [
  ...[5, 10, 15, 30].map((minutes) => minutes * MINUTE),
  ...[1, 2, 3, 4, 6, 8, 12].map((hours) => hours * HOUR),
  ...[1, 2, 7, 30].map((days) => days * DAY),
];

const SHORTEST_MS = MINUTE;
const LONGEST_MS = 30 * DAY;

const DURATIONS = ['snapshotIntervalMs', 'validationIntervalMs', 'rpoTargetMs', 'rtoTargetMs'] as const;

/** The settings suggested for a source; they are also the defaults of a request. */
export function defaultSettings([destinationRegion]: readonly string[], snapshotIntervalMs = HOUR) {
  return {
    ...(destinationRegion === undefined ? {} : { destinationRegion }),
    mode: 'cold',
    snapshotIntervalMs,
    validationIntervalMs: DAY,
    rpoTargetMs: Math.min(2 * snapshotIntervalMs, LONGEST_MS),
    rtoTargetMs: 4 * HOUR,
    sameRegionAcknowledged: false,
  } as const;
}

/** The first interval or target that breaks its limits, as a sentence; undefined when none does. */
export function brokenDuration(asked: AskedSettings): string | undefined {
  for (const name of DURATIONS) {
    const value = asked[name];
    if (value === undefined) continue;
    if (!Number.isInteger(value) || value < SHORTEST_MS || value > LONGEST_MS) {
      return `${name} must be a whole number of milliseconds between one minute and 30 days`;
    }
  }
  const snapshot = asked.snapshotIntervalMs;
  if (snapshot !== undefined && !SNAPSHOT_SCHEDULES.includes(snapshot)) {
    return 'snapshotIntervalMs does not map to a supported snapshot schedule';
  }
  return undefined;
}

/** The settings a request means once its omissions are filled in; undefined when no destination is left to choose. */
export function settle(asked: AskedSettings, destinations: readonly string[]): ConfigurationSettings | undefined {
  const { target: _names, storageCredentialId, ...given } = asked;
  const defaults = defaultSettings(destinations, asked.snapshotIntervalMs);
  const { destinationRegion, mode, ...settings } = { ...defaults, ...given };
  if (destinationRegion === undefined) return undefined;
  return { destinationRegion, mode, storage: storageOf(storageCredentialId), ...settings };
}

function storageOf(credentialId: string | null | undefined): Storage {
  if (credentialId === undefined) return { kind: 'inherited' };
  return credentialId === null ? { kind: 'platform' } : { kind: 'credential', credentialId };
}

/**
 * The names a request means: trimmed, a database always in a new app, an app name only where a new app is made.
 * Undefined when a name that is needed is missing.
 */
export function settleNames(asked: AskedNames, source: Pick<RetainedSource, 'isDatabase'>): TargetNames | undefined {
  const envName = asked.envName?.trim() ?? '';
  const appName = asked.appName?.trim() ?? '';
  const createNewApp = source.isDatabase || asked.createNewApp === true;
  if (envName === '' || (createNewApp && appName === '')) return undefined;
  return createNewApp ? { envName, createNewApp, appName } : { envName, createNewApp };
}

/** Compares two sets of names. */
export function sameNames(one: TargetNames, other: TargetNames): boolean {
  return one.envName === other.envName && one.createNewApp === other.createNewApp && one.appName === other.appName;
}

/** Tells if an edit leaves the copies where they are. If not, earlier points are no points of the configuration any more. */
export function keepsCopies(before: Configuration, after: ConfigurationSettings): boolean {
  const { destinationRegion, mode, storage } = before.settings;
  return (
    destinationRegion === after.destinationRegion &&
    mode === after.mode &&
    JSON.stringify(storage) === JSON.stringify(after.storage)
  );
}
