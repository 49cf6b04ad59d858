/** Turns the recorded calls of the operator into the rows of a plan. */
import { definedIn, isRecord, revealed, sameJson, type Json, type JsonObject, Secret } from '../../base/json.ts';
import { keyOf, partsOfKey, referredBy, type ParsedObject } from '../../engine/objects/stored.ts';
import type { Request } from '../../engine/ports.ts';
import { protectionSettings, receiptOf, solutionResultOf } from '../../hosting/requests.ts';
import { conditionOf, keyInWords, printable } from '../cluster/objects.ts';
import type { Finding, Plan, PlanAction, PlanField, PlanRow } from './model.ts';
import type { PlannedCall, Played } from './rehearsal.ts';
import { placeholders } from './materials.ts';
import { specOf } from './scenes.ts';
import { configuredBy, isNewId, textOf } from './service-in-memory.ts';

/** What a plan knows about its resources, apart from the recorded calls: for example, where their manifests are. */
export interface Known {
  /** The objects before the change that is planned, and those after it. */
  readonly objects: readonly ParsedObject[];
  /** The file and line of each resource in the manifests, by the key of the resource. */
  readonly places: ReadonlyMap<string, { readonly file: string; readonly line: number }>;
  /**
   * The keys of resources whose spec before the change is known, from the cluster or from --base. That spec also has
   * the values that the service hides.
   */
  readonly hiddenKnown: ReadonlySet<string>;
  /** The keys of those resources that were read from the cluster. */
  readonly liveKnown: ReadonlySet<string>;
  /** The reason that the plan gives for the deletion of a resource. */
  readonly whyDeleted: string;
  /** Finds the name of an app by its id. */
  readonly appName: (appId: unknown) => string | undefined;
  readonly isDatabase: (preset: unknown) => boolean;
}

/**
 * Matches the ownership mark: the text that the operator adds to the end of the description of each alert that it
 * creates. The operator recognises its alerts by this mark.
 */
export const markForm = /\s*apphosting:[a-z2-7]{16}$/;

/**
 * Prepares a text of the service for printing. Removes control characters, and the text that the operator adds to the
 * end of descriptions.
 */
function plainText(text: string): string {
  return printable(text.replace(markForm, ''));
}

/**
 * Returns the sorted rows of a plan. `rows` has the changes that the manifests cause; `drift` has the changes that the
 * operator would make without them.
 */
export function rowsOf(played: Played, known: Known): Pick<Plan, 'rows' | 'drift'> {
  const names = namesOfIds(played.objects);
  const done = played.calls.filter(({ outcome }) => outcome === 'committed');
  const isWhole = ({ request }: PlannedCall) => request.effect === 'create' || actionOf(request) === 'create';
  const made = new Set(done.filter(isWhole).map(({ object }) => object));
  const sent = new Set(done.map(({ object }) => object));
  const secrets = new Set(played.calls.flatMap(secretsIn));
  const hidden = new Map(played.objects.map((object) => [object.key, hiddenIn(object)]));
  const rowOf = (call: PlannedCall) => {
    const isHiddenKnown = (call.caused ? known.hiddenKnown : known.liveKnown).has(call.object) || made.has(call.object);
    const isTold = isHiddenKnown || actionOf(call.request) !== 'change';
    return callRow(call, { ...known, names, secrets, hidden: isTold ? undefined : hidden.get(call.object) });
  };
  const of = (caused: boolean) => done.filter((call) => call.caused === caused).flatMap(rowOf);
  const depth = depths(known.objects);
  const sorted = (rows: readonly PlanRow[]) => rows.toSorted((a, b) => order(a, b, depth));
  const unknown = played.objects.flatMap((object) => unknownRow(object, known, { made, sent }));
  return { rows: sorted([...of(true), ...unknown]), drift: sorted(of(false)) };
}

const waitsForAccount = 'AccountNotReady: ';

/**
 * Hides the rows of resources that only wait for their account.
 * Their number is shown in the row of the account instead.
 */
export function foldedByAccount(rows: readonly PlanRow[], { objects, places }: Known): PlanRow[] {
  const accountOf = new Map(objects.map(({ key, account }) => [key, account]));
  const isWaiting = ({ action, note = '' }: PlanRow) => action === 'unknown' && note.startsWith(waitsForAccount);
  const waiting = Map.groupBy(rows.filter(isWaiting), (row) => accountOf.get(keyOfRow(row)) ?? '');
  const others = new Set(rows.filter((row) => !isWaiting(row)));
  const accounts = [...waiting].map(([key, [first, ...more]]): PlanRow => {
    const count = `${more.length + 1} ${more.length === 0 ? 'resource waits' : 'resources wait'} for this account`;
    const own = [...others].find((row) => row.action === 'unknown' && keyOfRow(row) === key);
    if (own !== undefined) others.delete(own);
    const row = own ?? { action: 'unknown', ...partsOfKey(key), fields: [], ...places.get(key) };
    const why = first?.note?.slice(waitsForAccount.length);
    return { ...row, note: own === undefined ? `${count}: ${why}` : `${own.note}; ${count}` };
  });
  return [...accounts, ...others];
}

/** Reports the objects that would be Stalled after the change. */
export function stalledOf(played: Played, known: Known): readonly Finding[] {
  return played.objects.flatMap(({ key, status }) => {
    const stalled = conditionOf({ status }, 'Stalled');
    if (stalled?.status !== 'True') return [];
    const message = plainText(`${stalled.reason}: ${stalled.message}`);
    return [{ code: 'Stalled', incomplete: false, message, ...partsOfKey(key), ...known.places.get(key) } as const];
  });
}

interface Around extends Known {
  readonly names: ReadonlyMap<string, string>;
  /**
   * The fields that at least one call of this plan sends as a secret. Each entry has the form that `secretsIn` returns.
   */
  readonly secrets: ReadonlySet<string>;
  /**
   * The top-level fields of the request body whose old value is unknown, because the service hides them and the spec
   * before the change is not known.
   */
  readonly hidden: ReadonlySet<string> | undefined;
}

/** Returns the top-level fields of a request body whose values the service does not show for this object. */
function hiddenIn({ kind, spec, object: { status } }: ParsedObject): ReadonlySet<string> {
  const words = spec.is === 'valid' ? (kind.interfaceWords?.(spec.value) ?? {}) : {};
  const names = new Map(Object.entries(words).map(([name, path]) => [path, name]));
  return new Set(unverifiedIn(status).map((path) => topOf(names.get(path) ?? path)));
}

function unverifiedIn(status: unknown): readonly string[] {
  return isRecord(status) && Array.isArray(status['unverified']) ? status['unverified'].map(String) : [];
}

function topOf(name: string): string {
  return name.split('.', 1)[0] ?? name;
}

/**
 * Returns the fields that a call sends as a secret. A plan shows neither the new nor the old values of these fields.
 */
function secretsIn({ object, request }: PlannedCall): readonly string[] {
  return [...flattened(sentBy(request))].flatMap(([name, value]) => (isSecret(value) ? [`${object} ${name}`] : []));
}

function callRow(call: PlannedCall, around: Around): readonly PlanRow[] {
  const { object, request } = call;
  const action = actionOf(request);
  const fields = [...fieldsOf(call, around), ...unknownsOf(call)];
  const restart = restartOf(call, around);
  if (action === 'change' && fields.length === 0 && restart === undefined) return [];
  const words = definedIn(restart ?? { note: noteOf(call, around) });
  return [{ action, ...partsOfKey(object), call: request.endpoint, fields, ...words, ...around.places.get(object) }];
}

function actionOf({ endpoint, method, body = {} }: Request): PlanAction {
  if (method === 'DELETE') return 'delete';
  if (endpoint === 'PATCH /member/env-access') return 'access';
  if (endpoint.startsWith('POST /app-env/') && endpoint !== 'POST /app-env/alert') return 'deploy';
  if (isUpgrade(endpoint, body)) return 'deploy';
  if (endpoint === configure) return configuredBy(body)['expectedGeneration'] === 0 ? 'create' : 'change';
  if (endpoint.startsWith('POST /disaster-readiness/')) return 'request';
  return method === 'PATCH' || endpoint === 'POST /alert/toggle' ? 'change' : 'create';
}

const configure = 'POST /disaster-readiness/configure';

const verbs: Readonly<Record<string, string>> = {
  'POST /app-env/deploy-image': 'deploys, restarts',
  'POST /app-env/build': 'builds, restarts',
  'POST /app-env/redeploy': 'restarts',
  'POST /app-env/rollback': 'rolls back, restarts',
  'POST /app-env/stop': 'stops',
  'POST /app-env/start': 'starts',
};

/** True if a request to install a solution deploys another agent image to an installation that is complete. */
function isUpgrade(endpoint: string, { installationId, inputs }: JsonObject): boolean {
  if (endpoint !== 'POST /solutions' || installationId === undefined) return false;
  return isRecord(inputs) && inputs['agentImage'] !== undefined;
}

/** Says which environments a call deploys, restarts, stops or starts, and how; undefined if it does none of this. */
function restartOf({ request: { endpoint, body = {} }, before = {} }: PlannedCall, { appName }: Around) {
  const name = textOf(before['name']);
  const of = (verb: string, what: string) => ({ note: plainText(`${verb} ${what}`), restarts: plainText(what) });
  const verb = verbs[endpoint];
  const environment = [appName(before['appId']), name || textOf(body['appEnvId'])].filter(Boolean).join('/');
  if (verb !== undefined) return of(verb, environment);
  if (body['applyImmediately'] === true) return of('deploys at once, and restarts', `running environments of ${name}`);
  return isUpgrade(endpoint, body) ? of('deploys a different agent image to', textOf(body['appName'])) : undefined;
}

function noteOf(call: PlannedCall, around: Around): string | undefined {
  const { request } = call;
  if (request.method === 'DELETE') return around.whyDeleted;
  if (request.endpoint === 'POST /solutions') return solutionNote(call);
  if (actionOf(request) === 'request') return gateOf(call, around);
  if (request.endpoint === 'POST /app' && around.isDatabase(request.body?.['dockerPreset']))
    return 'the service also creates an environment for the database; the id of the environment is not known yet. The plan assumes the name in spec.environmentName of the AppEnvironment for this app, and shows ? if there is no such name';
  return undefined;
}

/** Says what installing a solution creates, as far as the catalog shows. */
function solutionNote({ request, answer }: PlannedCall): string {
  if (request.body?.['installationId'] !== undefined)
    return 'creates only the missing components of the solution; the plan cannot tell which are missing';
  const names = (solutionResultOf(answer)?.components ?? []).map(({ name = '?' }) => name);
  if (names.length === 0) return 'creates components that the catalog does not list';
  return plainText(`creates ${names.join(', ')}`);
}

/**
 * Says under which conditions the operator sends a recovery request: for example, until when, and with which flags the
 * operator must run.
 */
function gateOf({ object, request }: PlannedCall, { objects }: Around): string {
  if (request.endpoint === 'POST /disaster-readiness/validate')
    return 'the operator sends the request only while no other operation is in progress';
  const asked = objects.find(({ key }) => key === object);
  const { scope, validUntil } = asked === undefined ? {} : specOf(asked);
  const flags = ['--enable-activation', ...(scope === 'Account' ? ['--enable-account-reset'] : [])];
  const until = plainText(textOf(validUntil));
  return `the operator sends the request at the latest at ${until}, and only if this resource is created after the operator was started with ${flags.join(' and ')}`;
}

/** Lists the fields whose values are unknown until the service answers the call, such as new ids. */
function unknownsOf({ request, answer }: PlannedCall): readonly PlanField[] {
  const unknown = (names: readonly string[]) => names.map((name) => ({ name: plainText(name), after: '?' }));
  if (request.endpoint === 'POST /solutions') {
    const { installationId, components = [] } = solutionResultOf(answer) ?? {};
    const ids = components.flatMap(({ name = '?' }) => [`components.${name}.appId`, `components.${name}.appEnvId`]);
    return unknown([...(isNewId(installationId) ? ['installationId'] : []), ...ids]);
  }
  if (request.endpoint === 'POST /disaster-readiness/reset') return unknown(['destinations']);
  if (actionOf(request) !== 'request') return [];
  return unknown([...(isNewId(receiptOf(answer)?.operationId) ? ['operationId'] : []), 'outcome']);
}

/**
 * Fields of a request that a plan does not show as changes: ids that only say what the call is about, the id of the
 * request, and `applyImmediately`, which only decides when a change is deployed. Exception: for a new object, a plan
 * shows `appEnvId`, the environment of the object.
 */
const naming: ReadonlySet<string> = new Set([
  'accountId',
  'appId',
  'appEnvId',
  'alertId',
  'contactPointId',
  'membershipId',
  'requestId',
  'applyImmediately',
]);

/**
 * Objects in request bodies that the service merges: it keeps the fields that the call does not send. The service
 * replaces every other object as a whole.
 */
const merged: ReadonlySet<string> = new Set(['config', 'jobConfig', 'functionConfig', 'envVars', 'inputs']);

/**
 * Lists the fields that a call changes: those that it sends, and those that the service removes because the call leaves
 * them out.
 */
function fieldsOf({ object, request, before = {} }: PlannedCall, around: Around): readonly PlanField[] {
  const isNew = actionOf(request) === 'create';
  const sent = flattened(sentBy(request));
  const was = flattened(isNew ? {} : (before as JsonObject));
  const objects = new Set([...sent.keys()].filter((name) => name.includes('.')).map(topOf));
  // The service replaces objects, and the settings of a protection, as a whole: it removes each value that the call
  // does not send.
  const isReplaced = (top: string) =>
    request.endpoint === configure ? protectionSettings.has(top) : objects.has(top) && !merged.has(top);
  const left = [...was.keys()].filter((name) => Boolean(was.get(name)) && isReplaced(topOf(name)));
  return [...new Set([...sent.keys(), ...left])].flatMap((name): readonly PlanField[] => {
    const [value, seen] = [sent.get(name), was.get(name)];
    const isShown = !naming.has(name) || (isNew && name === 'appEnvId');
    if (!isShown || (seen === undefined && around.hidden?.has(topOf(name)))) return [];
    if (value !== undefined && seen !== undefined && isSame(value, seen, around)) return [];
    if (isSecret(value) || around.secrets.has(`${object} ${name}`)) return [{ name, secret: true }];
    const after = value === undefined ? {} : { after: told(value, around) };
    return [{ name, ...(seen !== undefined && seen !== null && { before: told(seen, around) }), ...after }];
  });
}

function isSame(value: Json, seen: Json, around: Around): boolean {
  if (sameJson(revealed(value), seen)) return true;
  return !isSecret(value) && sameJson(sortedList(told(value, around)), sortedList(told(seen, around)));
}

function sentBy({ endpoint, body = {} }: Request): JsonObject {
  if (endpoint !== configure) return body;
  const { sourceAppEnvId: appEnvId, expectedGeneration: _edited, ...settings } = configuredBy(body) as JsonObject;
  return { ...(appEnvId !== undefined && { appEnvId }), ...settings };
}

/**
 * Returns the fields of an object and of the objects in it, by path, such as `config.url`. A list counts as one field.
 */
function flattened(value: JsonObject): ReadonlyMap<string, Json> {
  return new Map(Object.entries(value).flatMap(([name, inner]) => flat(name, inner)));
}

function flat(name: string, value: Json): readonly (readonly [string, Json])[] {
  const isWhole = !isRecord(value) || value instanceof Secret || Object.keys(value).length === 0;
  return isWhole ? [[name, value]] : Object.entries(value).flatMap(([key, one]) => flat(`${name}.${key}`, one));
}

function isSecret(value: Json | undefined): boolean {
  if (value instanceof Secret) return true;
  return typeof value === 'object' && value !== null && Object.values(value).some((inner: Json) => isSecret(inner));
}

type Told = Exclude<PlanField['after'], undefined>;

/**
 * Prepares a value for printing. Hides secrets. Replaces each id that the plan has made up with the name of the
 * resource that gets the id.
 */
function told(value: Json, around: Pick<Around, 'names'>): Told {
  if (typeof value === 'string') {
    if (isNewId(value)) return around.names.get(value) ?? 'a new one';
    return value.startsWith(placeholders) ? '?' : plainText(value);
  }
  if (value instanceof Secret) return '(secret)';
  if (Array.isArray(value)) return value.map((item: Json) => told(item, around));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, told(inner, around)]));
  return value;
}

function sortedList(value: Told): Told {
  return Array.isArray(value) ? value.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)) : value;
}

/** Maps the id of each object in the service to the name of the resource that is bound to it. */
function namesOfIds(objects: readonly ParsedObject[]): ReadonlyMap<string, string> {
  const bound = objects.filter(({ status: { memory } }) => memory.id !== undefined);
  return new Map(bound.map(({ key, status: { memory } }) => [memory.id ?? '', keyInWords(key)]));
}

/**
 * Makes the row of an object that the plan cannot fully predict, because the object is not Ready at the end of the
 * plan, or has fields that the service does not show. Returns no row for any other object.
 */
function unknownRow(
  { key, kind, object, status }: ParsedObject,
  known: Known,
  { made, sent }: Readonly<Record<'made' | 'sent', ReadonlySet<string>>>,
): readonly PlanRow[] {
  const row = (fields: PlanField[], note: string): readonly PlanRow[] => {
    return [{ action: 'unknown', ...partsOfKey(key), fields, note: plainText(note), ...known.places.get(key) }];
  };
  const ready = conditionOf({ status }, 'Ready');
  const isStalled = conditionOf({ status }, 'Stalled')?.status === 'True';
  // Make no row for an object that waits for the service after a call of this plan, nor for a one-time request that the
  // service accepted before (`acceptedTime`): a plan ends before the service has carried out the request. A stalled
  // object gets a finding instead (`stalledOf`).
  const shown = isRecord(object.status) ? object.status : {};
  const wasSent = sent.has(key) || shown['acceptedTime'] !== undefined;
  const isUnderWay = kind.life === 'request' ? wasSent : ready?.reason === 'Preparing' && sent.has(key);
  if (isStalled || isUnderWay) return [];
  if (ready === undefined) return row([], 'the operator has not reported a status yet');
  if (ready.status !== 'True') return row([], `${ready.reason}: ${ready.message}`);
  const unverified = unverifiedIn(shown);
  if (unverified.length === 0 || known.hiddenKnown.has(key) || made.has(key) || isOnlyObserved(object)) return [];
  return row(
    unverified.map((name) => ({ name })),
    'hidden by the service; sent when changed',
  );
}

function isOnlyObserved({ spec }: ParsedObject['object']): boolean {
  const lifecycle = isRecord(spec) ? spec['lifecycle'] : undefined;
  return isRecord(lifecycle) && Object.values(lifecycle).includes('Observe');
}

/**
 * Makes a function that returns the depth of an object: the length of the longest chain of references that starts at
 * the object. Rows are sorted by depth, so that an object comes after the objects that it refers to. Every chain ends,
 * because no reference leads back to a kind earlier in the chain.
 */
function depths(objects: readonly ParsedObject[]): (row: Pick<PlanRow, 'kind' | 'namespace' | 'name'>) => number {
  const byKey = new Map(objects.map((one) => [one.key, one]));
  const depthOf = (key: string): number => {
    const one = byKey.get(key);
    if (one === undefined || one.kind.life === 'account') return 0;
    return 1 + Math.max(0, ...referredBy(one).map(depthOf));
  };
  return (row) => depthOf(keyOfRow(row));
}

function keyOfRow({ kind, namespace, name }: Pick<PlanRow, 'kind' | 'namespace' | 'name'>): string {
  return keyOf(kind, namespace, name);
}

const actions: readonly PlanAction[] = ['create', 'change', 'access', 'deploy', 'request', 'delete', 'unknown'];

function order(a: PlanRow, b: PlanRow, depth: (row: PlanRow) => number): number {
  const key = ({ kind, namespace, name, action, call = '' }: PlanRow) =>
    [kind, namespace, name, actions.indexOf(action), call].join('\0');
  const [left, right] = [key(a), key(b)];
  return depth(a) - depth(b) || (left === right ? 0 : left < right ? -1 : 1);
}
