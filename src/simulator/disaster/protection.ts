// Setting up and editing a protection: the rules of one configure item, and the configuration that comes of it.
import { eligibleDestinations, type RegionFacts, type SourceFacts } from './eligibility.ts';
import { supports, unsupportedReasons } from './eligibility.ts';
import type { AskedSettings } from './calls/bodies.ts';
import type { Configuration, ConfigurationSettings, DisclosedRecord, TargetNames } from './model.ts';
import { type Refused, ruledOut, type Standby } from './model.ts';
import { begin, happened, type Happening, type OperationOutcome, runningActivation } from './operations.ts';
import { brokenDuration, keepsCopies, sameNames, settle, settleNames } from './settings.ts';
import { withoutToldReadiness } from './told.ts';

/** One item of configure, and the facts it is judged by. */
export interface ProtectionRequest {
  readonly accountId: string;
  readonly expectedGeneration: number;
  readonly asked: AskedSettings;
  readonly facts: SourceFacts;
  readonly regions: readonly RegionFacts[];
  readonly hasStorageCredential: (credentialId: string) => boolean;
  readonly now: number;
  readonly newId: (prefix: string) => string;
}

/** The settings and names to protect with, once an item is accepted. */
interface Agreed {
  readonly settings: ConfigurationSettings;
  readonly target?: TargetNames | undefined;
}

const UNTOLD: DisclosedRecord = { failSteps: 0, hold: false, applySeconds: 5, firstCopyBytes: 100_000_000 };

/** Sets up a protection or edits one; preparation is queued, nothing is restored yet. */
export function protect(current: Configuration | undefined, request: ProtectionRequest): OperationOutcome | Refused {
  const refusal = refusedNow(current, request);
  if (refusal !== undefined) return refusal;
  const agreed = agree(current, request);
  if ('refused' in agreed) return agreed;
  const operationId = request.newId('op');
  const { configuration, happenings } =
    current === undefined ? created(request, agreed) : edited(current, request, agreed);
  const begun = begin(configuration, { operationId, kind: 'enrollment', now: request.now });
  return { configuration: { ...begun, activeOperationId: operationId }, happenings };
}

function refusedNow(current: Configuration | undefined, request: ProtectionRequest): Refused | undefined {
  if (request.expectedGeneration !== (current?.generation ?? 0)) {
    return ruledOut('expectedGeneration is not the current generation of this protection');
  }
  if (current?.fencedAt !== undefined) return ruledOut('this protection is being reset');
  if (current !== undefined && runningActivation(current) !== undefined) {
    return ruledOut('an activation of this protection is in progress');
  }
  if (current?.lastCheck?.result === 'cleanupUnverifiable') {
    return ruledOut('the cleanup of the latest validation cannot be verified');
  }
  const [reason] = unsupportedReasons(request.facts, request.regions);
  return reason === undefined ? undefined : ruledOut(`this environment cannot be protected: ${reason}`);
}

function agree(current: Configuration | undefined, request: ProtectionRequest): Agreed | Refused {
  const { asked, facts, regions } = request;
  const broken = brokenDuration(asked);
  if (broken !== undefined) return ruledOut(broken);
  const settings = settle(asked, eligibleDestinations(facts, regions));
  if (settings === undefined || !supports(regions, settings.destinationRegion)) {
    return ruledOut('destinationRegion is no eligible destination of this environment');
  }
  if (settings.destinationRegion === facts.source.region && !settings.sameRegionAcknowledged) {
    return ruledOut('protection within the same region needs sameRegionAcknowledged');
  }
  const { storage } = settings;
  if (storage.kind === 'credential' && !request.hasStorageCredential(storage.credentialId)) {
    return ruledOut('storageCredentialId names no storage credential of this account');
  }
  return agreeOnNames(current, request, settings);
}

function agreeOnNames(
  current: Configuration | undefined,
  request: ProtectionRequest,
  settings: ConfigurationSettings,
): Agreed | Refused {
  const { asked, facts } = request;
  if (asked.target !== undefined) {
    const target = settleNames(asked.target, facts.source);
    return target === undefined
      ? ruledOut('target needs envName, and appName where a new app is created')
      : { settings, target };
  }
  if (settings.mode === 'warm') return ruledOut('warm protection needs a target');
  if (current?.target !== undefined) return { settings, target: current.target };
  return facts.source.isDatabase
    ? ruledOut('a database restores into a new app: target.envName and target.appName are needed')
    : { settings };
}

function created(request: ProtectionRequest, agreed: Agreed): OperationOutcome {
  const configurationId = request.newId('drc');
  const configuration: Configuration = {
    configurationId,
    accountId: request.accountId,
    sourceAppEnvId: request.facts.appEnvId,
    createdAt: request.now,
    generation: 1,
    ...agreed,
    source: request.facts.source,
    enrolled: false,
    operations: [],
    points: [],
    pointsTaken: 0,
    told: UNTOLD,
  };
  return happened(configuration, { kind: 'configuration.created', detail: { mode: agreed.settings.mode } });
}

function edited(current: Configuration, request: ProtectionRequest, agreed: Agreed): OperationOutcome {
  const { now } = request;
  const { standby } = current;
  const keeps = keepsCopies(current, agreed.settings);
  const superseded = current.operations.filter(({ endedAt }) => endedAt === undefined);
  const operations = current.operations.map((operation) =>
    superseded.includes(operation)
      ? ({ ...operation, phase: 'failed', outcome: 'superseded', endedAt: now } as const)
      : operation,
  );
  const configuration: Configuration = {
    ...withoutToldReadiness(current),
    ...(keeps ? {} : NO_COPIES),
    receiverOperationId: undefined,
    checkOperationId: undefined,
    standby: keeps && standby ? renamed(standby, current, agreed, request) : undefined,
    target: undefined,
    ...agreed,
    generation: current.generation + 1,
    source: request.facts.source,
    operations,
  };
  const disks: Happening[] = [
    ...superseded.filter(({ kind }) => kind === 'validation').map(() => retainsDisk('validation.superseded')),
    ...(standby !== undefined && !keeps ? [retainsDisk('standby.retired')] : []),
  ];
  return happened(rescheduled(configuration, current, now), { kind: 'configuration.edited' }, ...disks);
}

function retainsDisk(kind: string): Happening {
  return { kind, retainsDisk: true };
}

const NO_COPIES = {
  lastCheck: undefined,
  rollover: undefined,
  nextSnapshotAt: undefined,
  nextValidationAt: undefined,
  enrolled: false,
  points: [],
} as const;

function renamed(standby: Standby, before: Configuration, { target }: Agreed, { newId }: ProtectionRequest): Standby {
  if (target === undefined || (before.target && sameNames(before.target, target))) return standby;
  return { ...standby, targetAppId: target.createNewApp ? newId('app') : before.source.appId };
}

function rescheduled(configuration: Configuration, before: Configuration, now: number): Configuration {
  const { validationIntervalMs } = configuration.settings;
  if (configuration.nextValidationAt === undefined || validationIntervalMs === before.settings.validationIntervalMs) {
    return configuration;
  }
  return { ...configuration, nextValidationAt: now + validationIntervalMs };
}
