import type { Clock } from '../../base/clock.ts';
import { type Json, isRecord } from '../../base/json.ts';
import type { Closed } from '../account/settings.ts';
import type { Accounts, Session } from '../account/accounts.ts';
import { storedInWords, tie, type ObjectIndex, type Stored } from '../objects/object-index.ts';
import type { Needs } from '../kind/contract/define.ts';
import type { Referred, Subject } from '../kind/contract/pass.ts';
import type { Verdict } from '../kind/contract/step.ts';
import { annotations, finalizer, inWords } from '../objects/names.ts';
import type { Material, Service } from '../ports.ts';
import type { Secret } from '../../base/secret.ts';

/** What surrounds an object: its account, and the Secrets, ConfigMaps and objects that its spec asks for. */
export interface Surroundings {
  readonly session: Session;
  readonly secrets: ReadonlyMap<string, Secret>;
  readonly configMaps: ReadonlyMap<string, string>;
  readonly referred: ReadonlyMap<string, Referred>;
}

/** Nothing can be decided now: say why, or, without a verdict, come back when the account has been looked at. */
export interface Unready {
  readonly verdict: Verdict<unknown> | undefined;
}

export interface Gathering {
  readonly clock: Clock;
  readonly objects: ObjectIndex;
  readonly accounts: Accounts;
  readonly material: Material;
  readonly operatorNamespace: string;
  readonly settings: { readonly seesAll: boolean };
}

/** Brings together what an object needs, or says what is missing. */
export function gather(entry: Stored, gathering: Gathering): Promise<Surroundings | Unready> {
  const isLeaving = entry.object.metadata.deletionTimestamp !== undefined;
  return gatherFor(isLeaving ? lastNeeds(entry.needs) : entry.needs, entry, gathering);
}

/** What there is of what an object needs: enough to look, though not to act. */
export function gatherWhatThereIs(entry: Stored, gathering: Gathering): Promise<Surroundings | Unready> {
  return gatherFor(optionalNeeds(entry.needs), entry, gathering);
}

async function gatherFor(needs: Needs, entry: Stored, gathering: Gathering): Promise<Surroundings | Unready> {
  const session = await sessionOf(entry, gathering);
  if (!('service' in session)) return session;
  const referred = referencesOf(entry, needs, gathering.objects);
  if (!(referred instanceof Map)) return { verdict: referred };
  const secrets = await materialOf(entry, 'Secret', needs.secrets ?? [], gathering);
  if (!(secrets instanceof Map)) return { verdict: secrets };
  // Before anything of the service is looked at: its answers may speak of them, and of those of what is being deleted still.
  const stays = gathering.objects.get(entry.key) !== undefined && entry.object.metadata.deletionTimestamp === undefined;
  if (stays) gathering.accounts.know(entry.account, entry.key, [...secrets.values()]);
  const configMaps = await materialOf(entry, 'ConfigMap', needs.configMaps ?? [], gathering);
  if (!(configMaps instanceof Map)) return { verdict: configMaps };
  return { session, secrets, configMaps, referred };
}

/** What is being deleted does with the references that are still there, and without any Secret. */
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

async function sessionOf(entry: Stored, gathering: Gathering): Promise<Session | Unready> {
  const { objects, accounts, clock, settings } = gathering;
  if (entry.kind.life === 'account') {
    if (!accounts.hasLearned(entry.key)) await learnSecrets(entry, gathering);
    const opened = await accounts.open(entry);
    return 'service' in opened ? opened : { verdict: { is: 'stall', ...opened } };
  }
  const account = objects.get(entry.account);
  if (account === undefined) {
    const name = entry.account.replace('/', ' ');
    const missing = settings.seesAll
      ? 'does not exist; create it, or name another in spec.accountRef'
      : "does not exist, or lacks the labels that this operator's --selector asks for; an account has the labels of what uses it";
    return unready(`${name} ${missing}`);
  }
  const namespace = entry.object.metadata.namespace ?? '';
  if (!accounts.allows(account, namespace)) {
    return unready(`${storedInWords(account)} does not allow namespace ${namespace} in spec.allowedNamespaces`);
  }
  const session = accounts.session(account.key);
  if (session === undefined) return { verdict: closedVerdict(account, accounts.whyClosed(account.key)) };
  if (session.standing === undefined) return { verdict: undefined };
  if (session.farewellUntil !== undefined) {
    const serves = entry.object.metadata.deletionTimestamp !== undefined && clock.monotonic() < session.farewellUntil;
    if (!serves) return unready(`${storedInWords(account)} is being deleted, and its Secret has gone`);
  }
  if (!session.standing.admitted) return unready(`${storedInWords(account)}: ${session.standing.message}`);
  return mismatch(entry, account, session.service) ?? session;
}

/** What a process before this one gave to the service for the objects of an account is known before the first answer comes. */
async function learnSecrets(account: Stored, { objects, accounts, material }: Gathering): Promise<void> {
  accounts.learns(account.key);
  const users = objects.tiedBy(tie.account(account.key)).flatMap((key) => objects.get(key) ?? []);
  await Promise.allSettled(
    users.map(async ({ key, object, needs: { secrets: needed = [] } }) => {
      const { namespace = '' } = object.metadata;
      if (!accounts.allows(account, namespace)) return;
      const read = await Promise.all(needed.map(({ name }) => material.secret(namespace, name)));
      const found = needed.flatMap((need, index) => read[index]?.get(need.key) ?? []);
      if (found.length > 0 && objects.get(key) !== undefined) accounts.know(account.key, key, found);
    }),
  );
}

function closedVerdict(account: Stored, closed: Closed | undefined): Verdict<unknown> | undefined {
  // Its own conditions are frozen, and say nothing of that.
  if (closed !== undefined && account.object.metadata.annotations?.[annotations.paused] === 'true')
    return unready(`${storedInWords(account)} is paused and cannot be opened: ${closed.message}`).verdict;
  const find = (type: string) => account.status.conditions.find((condition) => condition.type === type);
  const isLeaving = account.object.metadata.deletionTimestamp !== undefined;
  const why = find('Stalled') ?? (isLeaving ? find('Ready') : undefined);
  return why === undefined ? undefined : unready(`${storedInWords(account)}: ${why.message}`).verdict;
}

/** What is bound stays with the endpoint and account it was bound in, unless the account's owner accepted another endpoint. */
function mismatch(entry: Stored, account: Stored, service: Service): Unready | undefined {
  const { binding, journal } = entry.status.memory;
  const bound = binding ?? journal;
  if (bound === undefined || (bound.endpoint === service.endpoint && bound.accountId === service.accountId))
    return undefined;
  const moves = entry.kind.life !== 'request';
  const accepted = moves && account.object.metadata.annotations?.[annotations.acceptEndpoint] === service.endpoint;
  if (accepted && bound.accountId === service.accountId) return undefined;
  const message = `this object belongs to account ${bound.accountId} at ${bound.endpoint}, and its account is now ${service.accountId} at ${service.endpoint}; nothing is sent`;
  return { verdict: { is: 'stall', reason: 'EndpointChanged', message } };
}

function unready(message: string): { readonly verdict: Verdict<unknown> } {
  return { verdict: { is: 'wait', reason: 'AccountNotReady', message } };
}

function referencesOf(entry: Stored, needs: Needs, objects: ObjectIndex): Map<string, Referred> | Verdict<unknown> {
  const found = new Map<string, Referred>();
  for (const need of needs.references ?? []) {
    const { namespace } = entry.object.metadata;
    const [, key = ''] = tie.object(need.kind, namespace, need.name).split(':', 2);
    const target = objects.get(key);
    const words = inWords(need.kind, { name: need.name });
    const { id, facts, applied } = target?.status.memory ?? {};
    const lacks =
      target === undefined
        ? 'does not exist'
        : target.account !== entry.account
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
    } else if (need.optional !== true) return notReady(`spec.${need.field} refers to ${words}, which ${lacks}`);
  }
  return found;
}

function notReady(message: string): Verdict<unknown> {
  return { is: 'wait', reason: 'ReferenceNotReady', message };
}

async function materialOf<Kind extends 'Secret' | 'ConfigMap'>(
  entry: Stored,
  kind: Kind,
  needs: NonNullable<Needs['secrets']>,
  { material, operatorNamespace }: Gathering,
): Promise<Map<string, Kind extends 'Secret' ? Secret : string> | Verdict<unknown>> {
  const namespace = entry.object.metadata.namespace ?? operatorNamespace;
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

/** The object as decisions see it. */
export function subjectOf(entry: Stored): Subject {
  const { metadata } = entry.object;
  return {
    kind: entry.kind.kind,
    namespace: metadata.namespace,
    name: metadata.name,
    uid: metadata.uid,
    generation: metadata.generation ?? 0,
    createdAtMs: Date.parse(metadata.creationTimestamp),
    annotations: metadata.annotations ?? {},
    deleting: metadata.deletionTimestamp !== undefined,
    held: metadata.finalizers?.includes(finalizer) === true,
  };
}

/** The fingerprint of a request, by which the same one is known again. */
export function requestDigest(
  print: (value: Json) => string,
  request: { readonly path: string; readonly body?: Json },
): string {
  return print([request.path, request.body ?? null]);
}
