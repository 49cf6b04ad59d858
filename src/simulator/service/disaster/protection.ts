// Creates and edits protections: checks one item of a configure request, and builds the configuration from it.
import { credentials } from '../accounts/records.ts';
import type { Environment } from '../environments/environment.ts';
import { rejected, rejectIf } from '../shape.ts';
import type { World } from '../../store/store.ts';
import type { AskedNames, AskedSettings } from './bodies.ts';
import { DAY, HOUR, MINUTE } from './durations.ts';
import { withoutToldReadiness } from './copies.ts';
import type { Configuration, ConfigurationSettings, Happening, RetainedSource, Standby } from './model.ts';
import type { TargetNames, ToldRecord } from './model.ts';
import { begin, happened, runningActivation } from './operations.ts';
import { eligibleDestinations, sourceOf, supports, unsupportedReasons } from './source.ts';

/** One item of a configure request: an environment and the settings for its protection. */
export interface ProtectionRequest {
  readonly environment: Environment;
  readonly expectedGeneration: number;
  readonly asked: AskedSettings;
}

/** The settings of a protection, with all defaults filled in, and the names of the recovered environment and its app. */
interface Agreed {
  readonly settings: ConfigurationSettings;
  readonly target?: TargetNames | undefined;
}

const UNTOLD: ToldRecord = { failSteps: 0, hold: false, applySeconds: 5, firstCopyBytes: 100_000_000 };

/** Creates or edits a disaster-readiness configuration, and begins its enrollment. */
export function protect(world: World, current: Configuration | undefined, request: ProtectionRequest): Configuration {
  const source = sourceOf(world, request.environment);
  rejectIf(world, refusedNow(world, current, request) ?? brokenDuration(request.asked));
  const settings = agreedSettings(world, request);
  const agreed = { settings, target: agreedNames(world, current, settings, request.asked, source) };
  const configuration =
    current === undefined ? created(world, request.environment, agreed) : edited(world, current, agreed);
  return begin(world, { ...configuration, source }, 'enrollment');
}

function refusedNow(world: World, current: Configuration | undefined, request: ProtectionRequest): string | undefined {
  if (request.expectedGeneration !== (current?.generation ?? 0)) {
    return 'expectedGeneration is not the current generation of this protection';
  }
  if (current?.fencedAt !== undefined) return 'this protection is being reset';
  if (current !== undefined && runningActivation(current) !== undefined) {
    return 'an activation of this protection is in progress';
  }
  if (current?.lastCheck?.result === 'cleanupUnverifiable') {
    return 'the cleanup of the latest validation cannot be verified';
  }
  const [reason] = unsupportedReasons(world, request.environment);
  return reason && `this environment cannot be protected: ${reason}`;
}

const SNAPSHOT_SCHEDULES: readonly number[] = [
  ...[5, 10, 15, 30].map((minutes) => minutes * MINUTE),
  ...[1, 2, 3, 4, 6, 8, 12].map((hours) => hours * HOUR),
  ...[1, 2, 7, 30].map((days) => days * DAY),
];
const LONGEST_MS = 30 * DAY;
const DURATIONS = ['snapshotIntervalMs', 'validationIntervalMs', 'rpoTargetMs', 'rtoTargetMs'] as const;

/**
 * Returns an error message if an interval or a target time of a request is out of bounds, or if its snapshot interval is not a supported
 * schedule. Returns undefined if all are valid.
 */
function brokenDuration(asked: AskedSettings): string | undefined {
  const isBroken = (ms = MINUTE) => !Number.isInteger(ms) || ms < MINUTE || ms > LONGEST_MS;
  const broken = DURATIONS.find((name) => isBroken(asked[name]));
  if (broken !== undefined) return `${broken} must be a whole number of milliseconds between one minute and 30 days`;
  const isScheduled = SNAPSHOT_SCHEDULES.includes(asked.snapshotIntervalMs ?? HOUR);
  return isScheduled ? undefined : 'snapshotIntervalMs does not map to a supported snapshot schedule';
}

/** Returns the settings that the service suggests for a source; configure also uses these settings as defaults. */
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

/** Completes the settings of a configure request with defaults; fails if a setting breaks a rule. */
function agreedSettings(world: World, { environment, asked }: ProtectionRequest): ConfigurationSettings {
  const { accountId, region } = environment;
  const { target: _names, storageCredentialId, ...given } = asked;
  const defaults = defaultSettings(eligibleDestinations(world, environment), asked.snapshotIntervalMs);
  const { destinationRegion = '', mode, ...settings } = { ...defaults, ...given };
  if (!supports(world, destinationRegion)) {
    throw rejected(world, 'destinationRegion is missing or not eligible');
  }
  if (destinationRegion === region && !settings.sameRegionAcknowledged)
    throw rejected(world, 'protection within the same region needs sameRegionAcknowledged to be true');
  const credential = world.of(credentials).get(storageCredentialId ?? '');
  const isOurs = credential?.accountId === accountId && credential.kind === 'storage';
  if (typeof storageCredentialId === 'string' && !isOurs)
    throw rejected(world, 'storageCredentialId is not the id of a storage credential of this account');
  return { destinationRegion, mode, ...settings, ...(storageCredentialId !== undefined && { storageCredentialId }) };
}

function agreedNames(
  world: World,
  current: Configuration | undefined,
  { mode }: ConfigurationSettings,
  asked: AskedSettings,
  source: RetainedSource,
): TargetNames | undefined {
  if (asked.target !== undefined) {
    const target = settleNames(asked.target, source);
    if (target === undefined)
      throw rejected(world, 'target needs envName; it also needs appName if a new app is created');
    return target;
  }
  if (mode === 'warm') throw rejected(world, 'the mode warm needs a target');
  if (current?.target !== undefined || !source.isDatabase) return current?.target;
  throw rejected(world, 'a database is restored into a new app, so target.envName and target.appName are required');
}

/**
 * Completes the target names in a request. Trims them, sets `createNewApp` if a database is recovered, and drops the app name
 * if no app is to be created. Returns undefined if a required name is missing.
 */
export function settleNames(asked: AskedNames, source: RetainedSource): TargetNames | undefined {
  const envName = asked.envName?.trim() ?? '';
  const appName = asked.appName?.trim() ?? '';
  const createNewApp = source.isDatabase || asked.createNewApp === true;
  if (envName === '' || (createNewApp && appName === '')) return undefined;
  return createNewApp ? { envName, createNewApp, appName } : { envName, createNewApp };
}

/** True if two sets of target names are equal. */
export function sameNames(one: TargetNames, other: TargetNames): boolean {
  return one.envName === other.envName && one.createNewApp === other.createNewApp && one.appName === other.appName;
}

function created(world: World, { appEnvId, accountId }: Environment, agreed: Agreed): Omit<Configuration, 'source'> {
  return {
    configurationId: world.id('drc'),
    accountId,
    sourceAppEnvId: appEnvId,
    createdAt: world.now,
    generation: 1,
    ...agreed,
    enrolled: false,
    operations: [],
    points: [],
    pointsTaken: 0,
    told: UNTOLD,
    happenings: [{ kind: 'configuration.created', detail: { mode: agreed.settings.mode } }],
  };
}

function edited(world: World, current: Configuration, agreed: Agreed): Configuration {
  const { standby } = current;
  const keeps = keepsCopies(current, agreed.settings);
  const running = current.operations.filter(({ endedAt }) => endedAt === undefined);
  const superseded = { phase: 'failed', outcome: 'superseded', endedAt: world.now } as const;
  const checks = running.filter(({ kind }) => kind === 'validation');
  const configuration: Configuration = {
    ...withoutToldReadiness(current),
    ...(keeps ? { nextValidationAt: rescheduled(world, current, agreed) } : NO_COPIES),
    receiverOperationId: undefined,
    standby: keeps && standby ? renamed(world, standby, current, agreed) : undefined,
    ...agreed,
    generation: current.generation + 1,
    operations: current.operations.map((each) => (running.includes(each) ? { ...each, ...superseded } : each)),
  };
  return happened(
    configuration,
    { kind: 'configuration.edited' },
    ...checks.map((): Happening => ({ kind: 'validation.superseded', retainsDisk: true })),
    ...(standby === undefined || keeps ? [] : [{ kind: 'standby.retired', retainsDisk: true } as const]),
  );
}

/**
 * True if the new settings leave the region, mode and storage of the copies unchanged. Otherwise the configuration loses its recovery
 * points.
 */
function keepsCopies({ settings: before }: Configuration, after: ConfigurationSettings): boolean {
  const places = ['destinationRegion', 'mode', 'storageCredentialId'] as const;
  return places.every((name) => before[name] === after[name]);
}

const NO_COPIES = {
  lastCheck: undefined,
  rollover: undefined,
  nextSnapshotAt: undefined,
  nextValidationAt: undefined,
  enrolled: false,
  points: [],
} as const;

function renamed(world: World, standby: Standby, before: Configuration, { target }: Agreed): Standby {
  if (target === undefined || (before.target && sameNames(before.target, target))) return standby;
  return { ...standby, targetAppId: target.createNewApp ? world.id('app') : before.source.appId };
}

/**
 * Returns the time of the next scheduled validation after the settings were edited. If the edit changes the validation interval, the new
 * interval begins now.
 */
function rescheduled(world: World, { nextValidationAt, settings }: Configuration, agreed: Agreed): number | undefined {
  const { validationIntervalMs } = agreed.settings;
  const isSame = nextValidationAt === undefined || validationIntervalMs === settings.validationIntervalMs;
  return isSame ? nextValidationAt : world.now + validationIntervalMs;
}
