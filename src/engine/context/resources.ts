import type { Clock } from '../../base/time.ts';
import { type Json, isRecord, type Secret } from '../../base/json.ts';
import type { Closed } from '../account/settings.ts';
import type { Accounts, Session } from '../account/accounts.ts';
import { storedInWords, tie, type ObjectIndex, type Stored } from '../objects/object-index.ts';
import type { Needs } from '../kind/contract/define.ts';
import type { Referred, Subject } from '../kind/contract/pass.ts';
import type { Verdict } from '../kind/contract/step.ts';
import { annotations, finalizer, inWords } from '../objects/names.ts';
import type { KubeObject, Material, Service } from '../ports.ts';

/** The resources of an object: its account's session, and the Secrets, ConfigMaps and objects that its spec names. */
export interface Resources {
  readonly session: Session;
  readonly secrets: ReadonlyMap<string, Secret>;
  readonly configMaps: ReadonlyMap<string, string>;
  readonly referred: ReadonlyMap<string, Referred>;
}

/** Something is missing: the verdict says what. Without a verdict it only waits in a queue of ours, which wakes the object. */
export interface Unready {
  readonly verdict: Verdict<unknown> | undefined;
}

export interface ResourceSources {
  readonly clock: Clock;
  readonly objects: ObjectIndex;
  readonly accounts: Accounts;
  readonly material: Material;
  readonly operatorNamespace: string;
  readonly settings: { readonly seesAll: boolean };
}

/** Gathers what an object needs, or says what is missing. */
export function gather(stored: Stored, sources: ResourceSources): Promise<Resources | Unready> {
  const isLeaving = stored.object.metadata.deletionTimestamp !== undefined;
  return gatherNeeds(isLeaving ? lastNeeds(stored.needs) : stored.needs, stored, sources);
}

/** Gathers what exists of an object's needs: enough to read, not to act. */
export function gatherPresent(stored: Stored, sources: ResourceSources): Promise<Resources | Unready> {
  return gatherNeeds(optionalNeeds(stored.needs), stored, sources);
}

async function gatherNeeds(needs: Needs, stored: Stored, sources: ResourceSources): Promise<Resources | Unready> {
  const session = await sessionOf(stored, sources);
  if (!('service' in session)) return session;
  const referred = referencesOf(stored, needs, sources.objects);
  if (!(referred instanceof Map)) return { verdict: referred };
  const secrets = await materialOf(stored, 'Secret', needs.secrets ?? [], sources);
  if (!(secrets instanceof Map)) return { verdict: secrets };
  const configMaps = await materialOf(stored, 'ConfigMap', needs.configMaps ?? [], sources);
  if (!(configMaps instanceof Map)) return { verdict: configMaps };
  return { session, secrets, configMaps, referred };
}

/** A deletion needs no Secret, and only the references that still exist. */
function lastNeeds({ references = [] }: Needs): Needs {
  return optionalNeeds({ references });
}

function optionalNeeds({ references = [], secrets = [], configMaps = [] }: Needs): Needs {
  return {
    references: references.map((need) => ({ ...need, optional: true })),
    secrets: secrets.map((need) => ({ ...need, optional: true })),
    configMaps: configMaps.map((need) => ({ ...need, optional: true })),
  };
}

async function sessionOf(stored: Stored, sources: ResourceSources): Promise<Session | Unready> {
  const { objects, accounts, clock, settings } = sources;
  if (stored.kind.life === 'account') {
    const opened = await accounts.open(stored);
    return 'service' in opened ? opened : { verdict: { is: 'stall', ...opened } };
  }
  const account = objects.get(stored.account);
  if (account === undefined) {
    const name = stored.account.replace('/', ' ');
    const missing = settings.seesAll
      ? 'does not exist; create it, or name another in spec.accountRef'
      : "does not exist, or lacks the labels that this operator's --selector asks for; an account has the labels of what uses it";
    return unready(`${name} ${missing}`);
  }
  const namespace = stored.object.metadata.namespace ?? '';
  if (!accounts.allows(account, namespace)) {
    return unready(`${storedInWords(account)} does not allow namespace ${namespace} in spec.allowedNamespaces`);
  }
  const session = accounts.session(account.key);
  if (session === undefined) return { verdict: closedVerdict(account, accounts.whyClosed(account.key)) };
  if (session.admission === undefined) return { verdict: undefined };
  if (session.farewellUntil !== undefined) {
    const serves = stored.object.metadata.deletionTimestamp !== undefined && clock.monotonic() < session.farewellUntil;
    if (!serves) return unready(`${storedInWords(account)} is being deleted, and its Secret has gone`);
  }
  if (!session.admission.admitted) return unready(`${storedInWords(account)}: ${session.admission.message}`);
  return mismatch(stored, account, session.service) ?? session;
}

function closedVerdict(account: Stored, closed: Closed | undefined): Verdict<unknown> | undefined {
  // The conditions of a paused account are frozen and do not say why it is closed.
  if (closed !== undefined && account.object.metadata.annotations?.[annotations.paused] === 'true')
    return unready(`${storedInWords(account)} is paused and cannot be opened: ${closed.message}`).verdict;
  const find = (type: string) => account.status.conditions.find((condition) => condition.type === type);
  const isLeaving = account.object.metadata.deletionTimestamp !== undefined;
  const why = find('Stalled') ?? (isLeaving ? find('Ready') : undefined);
  return why === undefined ? undefined : unready(`${storedInWords(account)}: ${why.message}`).verdict;
}

/** Stalls an object whose account now has another endpoint or id, unless the account's owner accepted the endpoint. */
function mismatch(stored: Stored, account: Stored, service: Service): Unready | undefined {
  const { binding, journal } = stored.status.memory;
  const bound = binding ?? journal;
  if (bound === undefined || (bound.endpoint === service.endpoint && bound.accountId === service.accountId))
    return undefined;
  const moves = stored.kind.life !== 'request';
  const accepted = moves && account.object.metadata.annotations?.[annotations.acceptEndpoint] === service.endpoint;
  if (accepted && bound.accountId === service.accountId) return undefined;
  const message = `this object belongs to account ${bound.accountId} at ${bound.endpoint}, and its account is now ${service.accountId} at ${service.endpoint}; nothing is sent`;
  return { verdict: { is: 'stall', reason: 'EndpointChanged', message } };
}

function unready(message: string): { readonly verdict: Verdict<unknown> } {
  return { verdict: { is: 'wait', reason: 'AccountNotReady', message } };
}

/** The objects that a spec refers to, or what they lack; undefined where one is about to be made, which wakes this object. */
function referencesOf(
  stored: Stored,
  needs: Needs,
  objects: ObjectIndex,
): Map<string, Referred> | Verdict<unknown> | undefined {
  const found = new Map<string, Referred>();
  for (const need of needs.references ?? []) {
    const { namespace } = stored.object.metadata;
    const [, key = ''] = tie.object(need.kind, namespace, need.name).split(':', 2);
    const target = objects.get(key);
    const words = inWords(need.kind, { name: need.name });
    const { id, facts, applied } = target?.status.memory ?? {};
    const lacks =
      target === undefined
        ? 'does not exist'
        : target.account !== stored.account
          ? 'belongs to another account'
          : id === undefined && need.withoutId !== true
            ? 'has no id in the service yet'
            : undefined;
    if (lacks === undefined) {
      found.set(`${need.kind}/${need.name}`, {
        id: id ?? '',
        facts: isRecord(facts) ? facts : {},
        applied: applied?.generation,
      });
    } else if (need.optional !== true) {
      if (target?.account === stored.account && isBeingMade(target)) return undefined;
      return notReady(`spec.${need.field} refers to ${words}, which ${lacks}`);
    }
  }
  return found;
}

/** True for an object that has its turn yet to come, or its creation under way. */
function isBeingMade({ object, status: { conditions, memory } }: Stored): boolean {
  const reason = conditions.find(({ type }) => type === 'Ready')?.reason;
  if (memory.id !== undefined) return false;
  return object.metadata.deletionTimestamp === undefined && (reason === undefined || reason === 'Creating');
}

function notReady(message: string): Verdict<unknown> {
  return { is: 'wait', reason: 'ReferenceNotReady', message };
}

async function materialOf<Kind extends 'Secret' | 'ConfigMap'>(
  stored: Stored,
  kind: Kind,
  needs: NonNullable<Needs['secrets']>,
  { material, operatorNamespace }: ResourceSources,
): Promise<Map<string, Kind extends 'Secret' ? Secret : string> | Verdict<unknown>> {
  const namespace = stored.object.metadata.namespace ?? operatorNamespace;
  const found = new Map<string, Secret | string>();
  for (const need of needs) {
    const keys = await (kind === 'Secret'
      ? material.secret(namespace, need.name)
      : material.configMap(namespace, need.name));
    const value = keys?.get(need.key);
    if (value !== undefined) found.set(`${need.name}/${need.key}`, value);
    else if (need.optional !== true) {
      const missing =
        keys === undefined ? `${kind} ${need.name} does not exist` : `${kind} ${need.name} has no key "${need.key}"`;
      return { is: 'wait', reason: `${kind}Missing`, message: `${missing}; spec.${need.field} refers to it` };
    }
  }
  return found as Map<string, Kind extends 'Secret' ? Secret : string>;
}

/** The object as a kind sees it. */
export function subjectOf(stored: Stored): Subject {
  const { metadata } = stored.object;
  return {
    kind: stored.kind.kind,
    namespace: metadata.namespace,
    name: metadata.name,
    uid: metadata.uid,
    generation: metadata.generation ?? 0,
    createdAtMs: Date.parse(metadata.creationTimestamp),
    annotations: metadata.annotations ?? {},
    deleting: metadata.deletionTimestamp !== undefined,
    held: isHeldByUs(stored.object),
  };
}

/** True while our finalizer is on. */
export function isHeldByUs({ metadata }: KubeObject): boolean {
  return metadata.finalizers?.includes(finalizer) === true;
}

/** The fingerprint by which the same request is recognised. */
export function requestDigest(
  print: (value: Json) => string,
  request: { readonly path: string; readonly body?: Json },
): string {
  return print([request.path, request.body ?? null]);
}
