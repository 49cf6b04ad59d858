/**
 * Lists the fields that are sent with a deployment, and keeps fingerprints of the values that were sent.
 *
 * The service never shows the image, variables, settings and startup override. So status keeps a fingerprint (a keyed
 * hash) of each value under the path of its field. Guarantees: each fingerprint is that of the value that the service
 * accepted last. While the outcome of a call is not known, the values of the fields in the call count as unknown. A
 * prefix in the name of a fingerprint means that the operator never sent the value, but assumes that it is deployed.
 */
import { definedIn, type Json } from '../../base/json.ts';
import { begun, doubted, fingerprintsOf, stateOfHidden } from '../../engine/kind/planner/compare.ts';
import type { Memory } from '../../engine/kind/contract/step.ts';
import { tokenIn, valueOf } from '../../engine/kind/schema/schema.ts';
import type { EnvironmentPass } from './binding.ts';
import type { AppEnvironmentFacts, AppEnvironmentSpec } from './schema.ts';

type Fingerprints = Readonly<Record<string, string>>;
type Applied = Memory<AppEnvironmentFacts>['applied'];

/** Annotations that ask for a call: to deploy the running version again, or to roll back to the previous version. */
export const askedBy = { redeploy: 'apphosting.dev/redeploy-at', rollBack: 'apphosting.dev/roll-back-at' } as const;

/** The calls that users can request with an annotation of an AppEnvironment: `redeploy` and `rollBack`. */
export type AskedCall = keyof typeof askedBy;

/** Returns the value of an annotation that asks for a call; undefined if the object does not have the annotation. */
export function tokenOf({ subject }: EnvironmentPass, asked: AskedCall): string | undefined {
  return tokenIn(subject.annotations, askedBy[asked]);
}

/**
 * This prefix in the name of a fingerprint means that the operator never sent the value. The operator assumes that the
 * value is deployed, because the environment already ran when the resource was bound to it.
 */
const assumed = '~';
/**
 * Maximum number of fingerprints to keep when a deployment begins or ends. Status has room for 600 fingerprints. Ten
 * places stay free for what is added later, such as how the last redeploy ended.
 */
const mostFingerprints = 590;

/** Returns the revision that the spec wants to deploy: an image, the revision of a build, or a content version. */
export function revisionOf({ deploy }: AppEnvironmentSpec): string | undefined {
  return deploy?.image ?? deploy?.build?.revision ?? deploy?.rollbackContentId;
}

/**
 * Returns a value that identifies the revision to deploy. The value stays the same if only variables and settings
 * change.
 */
export function deployValue({ deploy }: AppEnvironmentSpec): Json {
  if (deploy?.image !== undefined) return { image: deploy.image };
  if (deploy?.build !== undefined) return { build: deploy.build.revision };
  return { contentId: deploy?.rollbackContentId ?? '' };
}

/** Returns the variables, settings and startup override that are sent with a deployment, by their paths in the spec. */
export function partsOf(pass: EnvironmentPass): Readonly<Record<string, Json>> {
  const { env = [], functionConfig = {}, startupConfig } = pass.spec;
  return definedIn({
    ...Object.fromEntries(env.map((variable) => [`env.${variable.name}`, valueOf(variable, pass)])),
    ...Object.fromEntries(Object.entries(functionConfig).map(([name, value]) => [`functionConfig.${name}`, value])),
    ...(startupConfig && { startupConfig: definedIn(startupConfig) }),
  });
}

function isPart(field: string): boolean {
  return field === 'startupConfig' || field.startsWith('env.') || field.startsWith('functionConfig.');
}

function fingerprintsIn({ memory }: EnvironmentPass): Fingerprints {
  return memory.applied?.fingerprints ?? {};
}

/**
 * True if the field was last sent with this value, as the fingerprint in status shows. Also true if the fingerprint was
 * made with a lost key, and the spec has not changed since.
 */
function isSent(pass: EnvironmentPass, field: string, value: Json): boolean {
  return stateOfHidden(pass, field, pass.fingerprint(value)) !== 'unsent';
}

/**
 * True if this value is the last one that the service accepted for the field, or if its fingerprint was made with a
 * lost key, and the spec has not changed since. With `mayAssume`, also true for a value that was never sent, but is
 * assumed to be deployed because the environment already ran when the resource was bound to it.
 */
export function isKnown(pass: EnvironmentPass, field: string, value: Json, mayAssume: boolean): boolean {
  return isSent(pass, field, value) || (mayAssume && isSent(pass, `${assumed}${field}`, value));
}

/**
 * True if the operator has deployed the revision in the spec, as the fingerprint in status shows. If that fingerprint
 * was made with a lost key, true if the spec is unchanged or if status shows the same revision. With `mayAssume`, also
 * true if the operator never sent the revision, but assumes that it is deployed.
 */
export function isDeployed(pass: EnvironmentPass, mayAssume: boolean): boolean {
  const { spec, subject, memory } = pass;
  const value = deployValue(spec);
  const asApplied = { ...pass, subject: { ...subject, generation: memory.applied?.generation ?? subject.generation } };
  const isForeign = stateOfHidden(asApplied, 'deploy', pass.fingerprint(value)) === 'unknownKey';
  return isKnown(pass, 'deploy', value, mayAssume) || (isForeign && memory.facts.deploy?.revision === revisionOf(spec));
}

/** True if the operator sent a startup override that the spec no longer has. */
export function isStartupLeft(pass: EnvironmentPass): boolean {
  return fingerprintsIn(pass)['startupConfig'] !== undefined && pass.spec.startupConfig === undefined;
}

function takes({ deploy }: AppEnvironmentSpec, field: string): boolean {
  return deploy?.image !== undefined || (deploy?.build !== undefined && field === 'startupConfig');
}

/** Returns the fields that the next deployment sends: fields not sent yet, and fields that the deployment clears. */
export function carriedBy(pass: EnvironmentPass): readonly string[] {
  const news = Object.entries(partsOf(pass)).filter(([field, value]) => !isSent(pass, field, value));
  const cleared = isStartupLeft(pass) ? ['startupConfig'] : [];
  return [...news.map(([field]) => field), ...cleared].filter((field) => takes(pass.spec, field));
}

/**
 * Returns the fields that the spec no longer has, but that keep their value in the service because no call can clear
 * them.
 */
export function leftoverOf(pass: EnvironmentPass): readonly string[] {
  const wanted = partsOf(pass);
  return Object.keys(fingerprintsIn(pass))
    .filter((field) => isPart(field) && wanted[field] === undefined)
    .filter((field) => field !== 'startupConfig' || !takes(pass.spec, field))
    .toSorted();
}

/**
 * Returns fingerprints of the revision, variables, settings and startup override in the spec. They record that the
 * operator never sent these values, but assumes that they are deployed, because the environment already ran when the
 * resource was bound to it.
 */
export function assumedFingerprints(pass: EnvironmentPass): Fingerprints {
  if (revisionOf(pass.spec) === undefined) return {};
  const wanted = { deploy: deployValue(pass.spec), ...partsOf(pass) };
  const rows = Object.entries(wanted).map(([field, value]) => [`${assumed}${field}`, pass.fingerprint(value)]);
  return Object.fromEntries(rows);
}

/**
 * Returns the fingerprints that status has while a call is under way. The fingerprints of all fields in the call are
 * marked as in doubt, because the service may or may not have received the values.
 */
export function appliedInFlight(pass: EnvironmentPass, carries: readonly string[]): Applied {
  const known = fingerprintsIn(pass);
  const adopted = carries.map((field) => `${assumed}${field}`).filter((field) => known[field] !== undefined);
  const meanwhile = begun(pass.memory.applied, [...carries, ...adopted]);
  return meanwhile && { ...meanwhile, fingerprints: fitting(pass, meanwhile.fingerprints) };
}

/**
 * Returns the fingerprints to keep after a deployment that succeeded: those of the fields that it sent, and the earlier
 * ones of all other fields, as many as fit in status.
 */
export function appliedBy(pass: EnvironmentPass): Applied {
  const now = Object.entries(partsOf(pass)).filter(([field]) => takes(pass.spec, field));
  const sent = fingerprintsOf(pass, { deploy: deployValue(pass.spec), ...Object.fromEntries(now) });
  const isCleared = (field: string) => field === 'startupConfig' && isStartupLeft(pass) && takes(pass.spec, field);
  const isOver = (field: string) => field.startsWith(assumed) || over.includes(field) || isCleared(field);
  const fingerprints = { ...without(fingerprintsIn(pass), isOver), ...sent };
  return { generation: pass.subject.generation, fingerprints: fitting(pass, fingerprints) };
}

/**
 * Returns the fingerprints to keep after a deployment that failed or whose outcome stayed unknown. They prevent the
 * operator from repeating the deployment by itself.
 */
export function appliedAfterFailure(pass: EnvironmentPass): Applied {
  const { fingerprints } = doubted(pass.memory.applied, ['deploy', ...carriedBy(pass)]);
  const known = without(fingerprints, (field) => field.startsWith(assumed) || field === 'lost');
  const failed = pass.fingerprint(wishOf(pass));
  return { generation: pass.subject.generation, fingerprints: fitting(pass, { ...known, failed }) };
}

function wishOf(pass: EnvironmentPass): Json {
  return [deployValue(pass.spec), partsOf(pass), isStartupLeft(pass)];
}

/** True if a deployment with the same revision, variables and settings failed before. */
export function failedBefore(pass: EnvironmentPass): boolean {
  return isSent(pass, 'failed', wishOf(pass));
}

/**
 * How a call ended. `Failed`: the service reported a failure. The other values are for calls without a usable response.
 * `carriedOut`: a read showed that the call took effect. `once`: the call was tried once, and no read showed an effect.
 * `twice`: it was tried twice, and no read showed an effect. `InDoubt`: the operator has stopped trying, and does not
 * know the outcome.
 */
export type CallEnd = 'carriedOut' | 'once' | 'twice' | 'Failed' | 'InDoubt';

/**
 * The name of a record about how a call ended. `lost`: the last call whose outcome was unknown. `redeploy` and
 * `rollBack`: the last call of this kind that an annotation asked for and that failed, or that was given up with an
 * unknown outcome.
 */
type Ended = 'lost' | AskedCall;

/**
 * Records how the call with this fingerprint ended. The operator recognises the call only as long as it has the key
 * that made the fingerprint. If the key is lost, it may send the call again, which is better than never sending it.
 * `startedAt` is the time at which the operator decided to send the call.
 */
export function recordEnd(applied: Applied, ended: Ended, fingerprint: string, end: CallEnd, startedAt = ''): Applied {
  const { generation, fingerprints } = doubted(applied, []);
  return { generation, fingerprints: { ...fingerprints, [ended]: `${end} ${fingerprint} ${startedAt}`.trim() } };
}

/** Returns how the call with this fingerprint ended; undefined if status has no record of the end. */
export function endOf(pass: EnvironmentPass, ended: Ended, fingerprint: string): CallEnd | undefined {
  const [end, of] = (fingerprintsIn(pass)[ended] ?? '').split(' ');
  return of === fingerprint ? (end as CallEnd) : undefined;
}

/** Returns when the last call whose outcome was unknown was begun; the present time if status has no record of it. */
export function lostAtMs(pass: EnvironmentPass): number {
  const [, , startedAt = ''] = (fingerprintsIn(pass)['lost'] ?? '').split(' ');
  return Date.parse(startedAt) || pass.wallMs;
}

/**
 * Keys of the entries in status that record calls which failed or whose outcome was unknown. The next deployment that takes
 * effect removes these entries.
 */
const over = ['failed', 'redeploy', 'rollBack', 'lost'];

/**
 * Returns the fingerprints to keep after a deployment took effect although the spec no longer asks for it. The
 * fingerprint of the revision is dropped, so that the deployment in the spec becomes due even if its revision was
 * deployed earlier.
 */
export function appliedOvertaken({ memory: { applied } }: EnvironmentPass): Applied {
  const gone = ['deploy', `${assumed}deploy`, ...over];
  return applied && { ...applied, fingerprints: without(applied.fingerprints, (field) => gone.includes(field)) };
}

/**
 * Makes the fingerprints again with the current key. Adds a fingerprint of spec.powerState once the environment has
 * reached that state.
 *
 * `isWhole` is true if nothing in the spec is left to send. Only then is the generation of the spec recorded, because
 * everything in the spec of that generation counts as sent if the key is lost later.
 */
export function renewed(pass: EnvironmentPass, state: string, isWhole: boolean): Applied {
  const { powerState: _before, ...known } = fingerprintsIn(pass);
  const wanted = { deploy: deployValue(pass.spec), ...partsOf(pass), failed: wishOf(pass) };
  const again = Object.entries(wanted).flatMap(([field, value]) =>
    [field, `${assumed}${field}`]
      .filter((name) => known[name] !== undefined && isSent(pass, name, value))
      .map((name) => [name, pass.fingerprint(value)]),
  );
  const { powerState } = pass.spec;
  const isThere = powerState !== undefined && (powerState === state || isPowerSet(pass, powerState));
  return {
    generation: isWhole ? pass.subject.generation : (pass.memory.applied?.generation ?? -1),
    fingerprints: {
      ...known,
      ...Object.fromEntries(again),
      ...(isThere && { powerState: pass.fingerprint(powerState) }),
    },
  };
}

/** True if the environment once reached the power state that the spec asks for. A different state is then drift. */
export function isPowerSet(pass: EnvironmentPass, powerState: NonNullable<AppEnvironmentSpec['powerState']>): boolean {
  return isSent(pass, 'powerState', powerState);
}

/**
 * Drops fingerprints that do not fit in status. The first to go are those of values that the operator never sent, and
 * those of fields that the spec no longer has.
 */
function fitting(pass: EnvironmentPass, fingerprints: Fingerprints): Fingerprints {
  const wanted = partsOf(pass);
  const rank = (field: string) => (field.startsWith(assumed) || (isPart(field) && wanted[field] === undefined) ? 1 : 0);
  const rows = Object.entries(fingerprints).toSorted(([a], [b]) => rank(a) - rank(b));
  return Object.fromEntries(rows.slice(0, mostFingerprints));
}

function without(fingerprints: Fingerprints, drops: (field: string) => boolean): Fingerprints {
  return Object.fromEntries(Object.entries(fingerprints).filter(([field]) => !drops(field)));
}
