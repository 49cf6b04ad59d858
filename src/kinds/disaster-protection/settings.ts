/** Compares the spec of a DisasterProtection with the service, and builds the settings that a configure call sends. */
import { definedIn, type Json } from '../../base/json.ts';
import { fingerprintsOf, sameValue, statusText } from '../../engine/kind/planner/compare.ts';
import type { Fields } from '../../engine/kind/planner/plan.ts';
import type { Drift, Memory } from '../../engine/kind/contract/step.ts';
import type {
  ConfigurationItem,
  DestinationNames,
  ProtectionItem,
  ProtectionSettings,
} from '../../hosting/requests.ts';
import { environmentOf, type ProtectionPass } from './binding.ts';
import type { DisasterProtectionSpec } from './schema.ts';

const perSecond = 1_000;

function milliseconds(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : seconds * perSecond;
}

/**
 * Converts milliseconds to seconds. Keeps a fraction if the service shows one, although a spec has whole seconds only.
 */
export function inSeconds(milliseconds: number | undefined): number | undefined {
  return milliseconds === undefined ? undefined : milliseconds / perSecond;
}

type Storage = NonNullable<DisasterProtectionSpec['storage']>;

/**
 * Converts storageCredentialId of the service's API to the form of spec.storage. An absent id means Inherited, null
 * means Platform, and any other id means Credential.
 */
function storageShown(credentialId: string | null | undefined): Storage {
  if (credentialId === undefined) return { source: 'Inherited' };
  return credentialId === null ? { source: 'Platform' } : { source: 'Credential', credentialId };
}

/** Maps the modes of the service's API to the modes of a spec. */
const modes: Readonly<Record<string, string>> = { cold: 'Cold', warm: 'Warm' };

/** Translates a mode of the service's API to the mode of a spec; an unknown mode stays as the service writes it. */
function modeShown(mode: string | undefined): string | undefined {
  return mode && (modes[mode.toLowerCase()] ?? mode);
}

/** Converts settings of the service's API to the field names and units of the spec. */
export function settingsShown(settings: Partial<ProtectionSettings>) {
  return {
    destinationRegion: settings.destinationRegion,
    protectionMode: modeShown(settings.mode),
    storage: storageShown(settings.storageCredentialId),
    snapshotIntervalSeconds: inSeconds(settings.snapshotIntervalMs),
    validationIntervalSeconds: inSeconds(settings.validationIntervalMs),
    rpoTargetSeconds: inSeconds(settings.rpoTargetMs),
    rtoTargetSeconds: inSeconds(settings.rtoTargetMs),
    sameRegionAcknowledged: settings.sameRegionAcknowledged,
  };
}

function storageInWords({ source, credentialId = '' }: Storage): string {
  return source === 'Credential' ? `Credential ${credentialId}` : source;
}

function namesInSpec({ envName, appName, createNewApp }: Names): Json {
  const isNew = createNewApp ?? false;
  return { environmentName: envName ?? '', createNewApp: isNew, ...(isNew && { appName: appName ?? '' }) };
}

function wantedNames({ target }: DisasterProtectionSpec): DestinationNames | undefined {
  if (target === undefined) return undefined;
  const { environmentName, appName, createNewApp } = target;
  return { envName: environmentName.trim(), appName: appName?.trim(), createNewApp };
}

/** True if the spec accepts recovery in the region in which the protected environment itself runs. */
export function isSameRegionAccepted({ acknowledgements }: DisasterProtectionSpec): boolean {
  return acknowledgements?.includes('SameRegion') === true;
}

/**
 * Returns the fields that the spec sets, with the wanted values. The service chooses the values of all other fields, so
 * these are not returned.
 */
function desiredOf(pass: ProtectionPass): readonly (readonly [field: string, wanted: Json])[] {
  return Object.entries(writtenOf(itemOf(pass))).flatMap(([field, wanted]) =>
    wanted === undefined || pass.spec[field as keyof DisasterProtectionSpec] === undefined ? [] : [[field, wanted]],
  );
}

/**
 * The settings of a protection and the names for the recovered environment, as the service saved them or as a configure
 * call contains them.
 */
interface Saved {
  readonly settings?: Partial<ProtectionSettings> | undefined;
  readonly warmDestination?: Names | undefined;
  readonly plannedDestination?: Names | undefined;
}

type Names = Partial<DestinationNames>;

/**
 * Returns the values that the service shows, under the field names of the spec. `wanted` has the names in spec.target;
 * `namedAlike` compares them with the names that the service shows.
 */
function observedOf({ settings, warmDestination, plannedDestination }: Saved, wanted: Names | undefined): Fields {
  const destination = warmDestination ?? plannedDestination;
  const { sameRegionAcknowledged, ...plain } = settingsShown(settings ?? {});
  return {
    ...plain,
    storage: settings && storageInWords(plain.storage),
    acknowledgements: sameRegionAcknowledged === undefined ? undefined : sameRegionAcknowledged ? ['SameRegion'] : [],
    target: destination && namesInSpec(namedAlike(destination, wanted)),
  };
}

/**
 * Returns the destination names that the service shows, made comparable with the spec. A database always gets a new
 * app, so the service may show createNewApp as true although the spec does not set it to true. In that case, if the app
 * has the name in the spec, returns createNewApp as false.
 */
function namedAlike(destination: Names, wanted: Names | undefined): Names {
  const implied = wanted?.createNewApp === true ? undefined : wanted?.appName?.trim();
  const isAlike = implied !== undefined && destination.appName === implied;
  return isAlike ? { ...destination, createNewApp: false } : destination;
}

/** Converts the settings of a configure call to the field names of the spec. */
function writtenOf(item: Omit<ProtectionItem, 'requestId'>): Fields {
  return observedOf({ settings: item, plannedDestination: item.target }, undefined);
}

/**
 * True if a configuration may be the effect of a configure call: every setting that the call contains and the
 * service shows has the value that was sent.
 */
export function mayBeOf(item: ProtectionItem, configuration: ConfigurationItem): boolean {
  const seen = observedOf(configuration, item.target);
  return Object.entries(writtenOf(item)).every(
    ([field, wanted]) =>
      wanted === undefined ||
      seen[field] === undefined ||
      // If the configure call contained no storage, the service chose the storage, so the configuration may have any
      // storage.
      (field === 'storage' && item.storageCredentialId === undefined) ||
      sameValue(wanted, seen[field]),
  );
}

/**
 * Returns the fingerprints to store after a configure call; they show later which values were sent. There is one for
 * each field that the spec sets. If the spec has changed since the call was recorded, there is instead one for each
 * field that the call contains.
 */
export function appliedByItem(pass: ProtectionPass, item: ProtectionItem): NonNullable<Memory['applied']> {
  const written = writtenOf(item);
  const stated = desiredOf(pass);
  const isToday = stated.every(([field, wanted]) => sameValue(wanted, written[field]));
  const said = isToday ? stated : Object.entries(written);
  const generation = isToday ? pass.subject.generation : (pass.memory.applied?.generation ?? -1);
  return { generation, fingerprints: fingerprintsOf(pass, Object.fromEntries(said)) };
}

/** True if the spec has not changed since all of its settings were applied. */
export function isApplied({ memory, subject }: ProtectionPass): boolean {
  return memory.applied?.generation === subject.generation;
}

/**
 * Compares each field that the spec sets with a configuration. `differing` and `drift` have the fields that differ.
 * `fingerprints` has a fingerprint for each field that the configuration does not show. `unsent` has those of these fields that
 * do not count as sent: the spec has changed since it was applied, and the value does not have the fingerprint of the
 * value that was last sent.
 *
 * Unlike `compare` of the other kinds, this function marks no value as in doubt: while the journal holds a configure
 * call, no other settings are sent.
 */
export function differenceOf(pass: ProtectionPass, configuration: ConfigurationItem) {
  const observed = observedOf(configuration, pass.spec.target);
  const drift: Drift[] = [];
  const hidden: Record<string, Json> = {};
  for (const [field, wanted] of desiredOf(pass)) {
    const seen = observed[field];
    if (seen === undefined) hidden[field] = wanted;
    else if (!sameValue(wanted, seen)) {
      drift.push({ field, desired: statusText(wanted, false), observed: statusText(seen, false) });
    }
  }
  const fingerprints = fingerprintsOf(pass, hidden);
  const sent = pass.memory.applied?.fingerprints ?? {};
  const unsent = isApplied(pass)
    ? []
    : Object.keys(fingerprints).filter((field) => sent[field] !== fingerprints[field]);
  return { differing: drift.map(({ field }) => field), unsent, fingerprints, drift };
}

/**
 * Builds the settings that a configure call sends. If the spec leaves a field out, a change repeats the service's
 * current value. Otherwise the service would set the field to its default, which for the storage would mean new copies
 * of the data.
 */
export function itemOf(pass: ProtectionPass, configuration?: ConfigurationItem): Omit<ProtectionItem, 'requestId'> {
  const { spec } = pass;
  const { settings, warmDestination, plannedDestination } = configuration ?? {};
  const mode = spec.protectionMode?.toLowerCase() ?? settings?.mode?.toLowerCase();
  const target = wantedNames(spec) ?? warmDestination ?? plannedDestination;
  const sameRegion = isSameRegionAccepted(spec) || settings?.sameRegionAcknowledged === true;
  return {
    sourceAppEnvId: environmentOf(pass),
    expectedGeneration: configuration?.generation ?? 0,
    ...definedIn({
      destinationRegion: spec.destinationRegion ?? settings?.destinationRegion,
      mode: mode === 'warm' || mode === 'cold' ? mode : undefined,
      snapshotIntervalMs: milliseconds(spec.snapshotIntervalSeconds) ?? settings?.snapshotIntervalMs,
      validationIntervalMs: milliseconds(spec.validationIntervalSeconds) ?? settings?.validationIntervalMs,
      rpoTargetMs: milliseconds(spec.rpoTargetSeconds) ?? settings?.rpoTargetMs,
      rtoTargetMs: milliseconds(spec.rtoTargetSeconds) ?? settings?.rtoTargetMs,
      sameRegionAcknowledged: sameRegion ? true : undefined,
      target: target && definedIn(target),
      storageCredentialId: spec.storage === undefined ? settings?.storageCredentialId : credentialOf(spec.storage),
    }),
  };
}

function credentialOf({ source, credentialId }: Storage): string | null | undefined {
  if (source === 'Inherited') return undefined;
  return source === 'Platform' ? null : credentialId;
}
