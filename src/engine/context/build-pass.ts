/**
 * Builds the pass: all the data from which a kind decides its next step, such as the object, its account, the resources
 * that the object refers to, and the resources that refer to the object.
 */
import { isRecord, type Secret } from '../../base/json.ts';
import { momentOf } from '../../base/time.ts';
import {
  type AnyKind,
  type MaterialNeed,
  type Needs,
  type ReferenceNeed,
  annotations,
} from '../kind/contract/define.ts';
import type { AccountView, Pass, View, Referred, Subject, Related } from '../kind/contract/pass.ts';
import {
  isHeldByUs,
  keyOf,
  indexKey,
  storedInWords,
  type ObjectIndex,
  type Stored,
  inWords,
  goesFirst,
  readyIn,
} from '../objects/stored.ts';
import { RecordingView } from '../objects/subscriptions.ts';
import { usageOf, type AccountParts } from '../account/gate.ts';
import type { LivePass, ReconcileContext } from './context.ts';
import type { EngineParts } from './parts.ts';
import type { Closed, Accounts, OpenAccount } from '../account/accounts.ts';
import type { Verdict } from '../kind/contract/step.ts';
import type { ServicePlace, Service } from '../ports.ts';
import { adoptionWithin } from '../kind/planner/create.ts';
import type { Lifecycle } from '../kind/planner/plan.ts';

/** With `look`, a reconcile only reads the service, and sends nothing. */
type Purpose = 'act' | 'look';

/**
 * Builds the pass (the inputs of one decision) of an object whose account is open. If `to` is `look`, nothing may be
 * deleted, so the kind decides as if the object were not being deleted. Failed reads are then hidden from the kind, so
 * that it requests the reads again instead of reporting the failure.
 */
export function livePass(
  context: ReconcileContext,
  { opened, ...gathered }: Pick<Gathered, 'opened'> & Partial<Gathered>,
  to: Purpose = 'act',
): LivePass {
  const view = new RecordingView(opened.service, context.inProcess.forced?.since);
  const pass = buildPass(context, view, context.parts.accounts.view(opened), gathered);
  if (to !== 'look') return pass;
  view.problem = () => undefined;
  return { ...pass, subject: { ...pass.subject, deleting: false } };
}

/** Builds the pass of an object whose account cannot be used, so that nothing of the service is shown. */
export function barePass(context: ReconcileContext): Pass {
  const { accounts, objects } = context.parts;
  const account = accounts.viewWithout(objects.get(context.stored.account), context.memory);
  return buildPass(context, nothingShown, account);
}

/**
 * A view of the service in which no list was read yet, for a decision without reads. A kind treats an object as gone
 * only after a read, so this view makes no object seem gone.
 */
const nothingShown: View = {
  all: () => undefined,
  one: () => undefined,
  group: () => undefined,
  problem: () => undefined,
};

/** Builds the pass from the current state of the reconcile, with this view of the service and of the account. */
function buildPass<Seen extends View>(
  context: ReconcileContext,
  view: Seen,
  account: AccountView,
  { referred, secrets, configMaps }: Partial<Omit<Gathered, 'opened'>> = {},
): Pass & { readonly view: Seen } {
  const { parts, stored, inProcess, memory } = context;
  const { awaitingClaims, clock, accounts, key, settings } = parts;
  const now = momentOf(clock);
  const cluster = parts.serverDate?.();
  // `newSince` is the time at which this process first saw the object. From it the kind concludes that no create call
  // was sent for the object since that time, until this process begins a call: a list read since then shows what earlier
  // calls created. After a take-over (the previous leader did not release its lease, or the cluster was restored from a
  // backup), an earlier create call may still arrive. So leave `newSince` out if this process first saw the object
  // before the end of the take-over.
  const { newSince = Number.NEGATIVE_INFINITY } = inProcess;
  return {
    subject: subjectOf(stored),
    spec: stored.spec.is === 'valid' ? stored.spec.value : undefined,
    memory,
    account,
    view,
    referred: (kind, name) => referred?.get(`${kind}/${name}`),
    secret: (name, field) => secrets?.get(`${name}/${field}`),
    configMap: (name, field) => configMaps?.get(`${name}/${field}`),
    inAccount: (kind) => inAccount(parts, stored, kind),
    related: (kind, id) => claiming(parts, stored, kind, id).map((other) => relation(other)),
    ...(settings.powers !== undefined && { powers: settings.powers }),
    ...(cluster !== undefined && { clusterMs: cluster.dateMs + now.monotonic - cluster.seenAt }),
    claimant: (id) => {
      const other = claimantOf(parts, stored, id);
      const claim = indexKey.claim(stored.kind.kind, id);
      if (other?.goesFirst === true)
        awaitingClaims.set(claim, (awaitingClaims.get(claim) ?? new Set()).add(stored.key));
      return other;
    },
    shown: (text) => context.redacted(text),
    dependents: () => dependentsOf(parts, stored),
    ...(stored.kind.life === 'account' && { usage: () => usageOf(parts, stored, accounts.opened(stored.key)) }),
    creating: (collection, name) => parts.openCreates.other(stored, account, collection, name),
    wrote: inProcess.writtenTo(memory.id),
    journalSeen: inProcess.journalSeen(memory.journal, now),
    notes: inProcess.notes,
    askedAt: inProcess.askedAt ?? now.monotonic,
    ...(newSince > parts.takeOverEndsAt && { newSince }),
    takeOverMs: Math.max(0, parts.takeOverEndsAt - now.monotonic),
    horizonMs: settings.horizonMs,
    callDeadlineMs: settings.callDeadlineMs,
    mark: inProcess.mark(key, account),
    fingerprint: (value) => key.fingerprint(value),
    contested: inProcess.contested(stored.object.metadata.generation ?? 0, now.monotonic),
    wallMs: now.wall,
    monotonicMs: now.monotonic,
  };
}

/**
 * True when nothing may be written to the service for this object, because its account or its own spec has the policy
 * `Observe`.
 */
export function isObserving(kind: AnyKind, { account, spec }: Pass): boolean {
  const isOwn = kind.life === 'long' && lifecycleIn(spec).managementPolicy === 'Observe';
  return isOwn || account.managementPolicy === 'Observe';
}

/** Returns the field `lifecycle` of a valid spec; an empty object for a kind without this field. */
function lifecycleIn(spec: unknown): Partial<Pick<Lifecycle, 'managementPolicy' | 'adoption'>> {
  const { lifecycle = {} } = isRecord(spec) ? spec : {};
  // The cast is safe: the schema of the kind has accepted the spec.
  return lifecycle as Partial<Lifecycle>;
}

/**
 * Everything that an object needs from outside: its account with an open connection, and the Secrets, ConfigMaps and
 * objects that its spec names.
 */
export interface Gathered {
  readonly opened: OpenAccount;
  readonly secrets: ReadonlyMap<string, Secret>;
  readonly configMaps: ReadonlyMap<string, string>;
  readonly referred: ReadonlyMap<string, Referred>;
}

/**
 * Something that an object needs is missing or cannot be used yet. `verdict` says what. Without a verdict, status does
 * not mention the problem, and the object is reconciled again later.
 */
interface Unready {
  readonly verdict: Verdict | undefined;
}

/**
 * Gathers everything that the reconcile of an object needs, or returns what is missing. A deletion needs no Secrets or
 * ConfigMaps, and only those referred objects that still exist. If `to` is `look`, for a reconcile that only reads the
 * service, only a missing account counts as missing.
 */
export async function gather(stored: Stored, parts: EngineParts, to: Purpose = 'act'): Promise<Gathered | Unready> {
  const isLeaving = stored.object.metadata.deletionTimestamp !== undefined;
  const mayLack = isLeaving || to === 'look';
  const { references = [], ...texts } = stored.needs;
  const { secrets = [], configMaps = [] }: Needs = isLeaving && to === 'act' ? {} : texts;
  const { material, objects, operatorNamespace } = parts;
  const namespace = stored.object.metadata.namespace ?? operatorNamespace;
  const isNeeded = ({ optional }: { readonly optional?: boolean }) => optional !== true && !mayLack;
  const opened = await openedOf(stored, parts);
  if (!('service' in opened)) return opened;
  const referred = referencesOf(stored, references, objects, isNeeded);
  if (!(referred instanceof Map)) return { verdict: referred };
  const fromSecrets = await materialOf('Secret', secrets, (name) => material.secret(namespace, name), isNeeded);
  if (!(fromSecrets instanceof Map)) return { verdict: fromSecrets };
  const fromMaps = await materialOf('ConfigMap', configMaps, (name) => material.configMap(namespace, name), isNeeded);
  if (!(fromMaps instanceof Map)) return { verdict: fromMaps };
  return { opened, secrets: fromSecrets, configMaps: fromMaps, referred };
}

async function openedOf(stored: Stored, sources: EngineParts): Promise<OpenAccount | Unready> {
  const { objects, accounts, clock, settings } = sources;
  if (stored.kind.life === 'account') {
    const opened = await accounts.open(stored);
    return 'service' in opened ? opened : { verdict: { is: 'stall', ...opened } };
  }
  const account = objects.get(stored.account);
  if (account === undefined) {
    const name = stored.account.replace('/', ' ');
    const missing = settings.seesAll
      ? `${name} does not exist; create this account, or name a different account in spec.accountRef`
      : `${name} does not exist, or lacks the labels of this operator's --selector; an account needs the labels of the resources that use the account`;
    return unready(missing);
  }
  const namespace = stored.object.metadata.namespace ?? '';
  if (!accounts.allows(account, namespace)) {
    return unready(`spec.allowedNamespaces of ${storedInWords(account)} does not allow namespace ${namespace}`);
  }
  const opened = accounts.opened(account.key);
  if (opened === undefined) return { verdict: closedVerdict(account, accounts.whyClosed(account.key)) };
  if (opened.admission === undefined) return { verdict: undefined };
  if (opened.lastTokenUntil !== undefined) {
    const serves = stored.object.metadata.deletionTimestamp !== undefined && clock.monotonic() < opened.lastTokenUntil;
    if (!serves)
      return unready(`${storedInWords(account)} is being deleted, and its Secret is gone, so that nothing can be sent`);
  }
  if (!opened.admission.admitted) return unready(`${storedInWords(account)}: ${opened.admission.message}`);
  return mismatch(stored, account, opened.service) ?? opened;
}

function closedVerdict(account: Stored, closed: Closed | undefined): Verdict | undefined {
  // The conditions of a paused account do not change, so they do not say why the account has no connection. The
  // conditions of the resource that uses the account say it instead.
  if (closed !== undefined && account.object.metadata.annotations?.[annotations.paused] === 'true')
    return unready(`${storedInWords(account)} is paused, and the operator is not connected to it: ${closed.message}`)
      .verdict;
  const find = (type: string) => account.status.conditions.find((condition) => condition.type === type);
  const isLeaving = account.object.metadata.deletionTimestamp !== undefined;
  const why = find('Stalled') ?? (isLeaving ? find('Ready') : undefined);
  return why === undefined ? undefined : unready(`${storedInWords(account)}: ${why.message}`).verdict;
}

/**
 * Returns a verdict if the object is bound to an endpoint or an account id that its account no longer has. A new
 * endpoint that the account's owner has accepted gives no verdict, except for a one-time request.
 */
function mismatch(stored: Stored, account: Stored, service: Service): Unready | undefined {
  const { binding, journal } = stored.status.memory;
  const bound = binding ?? journal;
  if (bound === undefined || samePlace(bound, service)) return undefined;
  const moves = stored.kind.life !== 'request';
  const accepted = moves && account.object.metadata.annotations?.[annotations.acceptEndpoint] === service.endpoint;
  if (accepted && bound.accountId === service.accountId) return undefined;
  const message = `this object is bound to account ${bound.accountId} at ${bound.endpoint}, but its account is now ${service.accountId} at ${service.endpoint}; nothing is sent`;
  return { verdict: { is: 'stall', reason: 'EndpointChanged', message } };
}

function unready(message: string): { readonly verdict: Verdict } {
  return { verdict: { is: 'wait', reason: 'AccountNotReady', message } };
}

/**
 * Returns the objects that a spec refers to, or a verdict that says what is wrong with one of them. Returns undefined
 * while one of them is still being created. When that creation has ended, the object with this spec is reconciled
 * again.
 */
function referencesOf(
  stored: Stored,
  needs: readonly ReferenceNeed[],
  objects: ObjectIndex,
  isNeeded: (need: ReferenceNeed) => boolean,
): Map<string, Referred> | Verdict | undefined {
  const found = new Map<string, Referred>();
  for (const need of needs) {
    const { namespace } = stored.object.metadata;
    const target = objects.get(keyOf(need.kind, namespace, need.name));
    const words = inWords(need.kind, { name: need.name });
    const { id, facts, applied } = target?.status.memory ?? {};
    const lacks =
      target === undefined
        ? `${words} does not exist`
        : target.account !== stored.account
          ? `${words} belongs to a different account`
          : id === undefined && need.withoutId !== true
            ? `${words} has no id in the service yet`
            : undefined;
    if (lacks === undefined) {
      found.set(`${need.kind}/${need.name}`, {
        id: id ?? '',
        facts: isRecord(facts) ? facts : {},
        applied: applied?.generation,
      });
    } else if (isNeeded(need)) {
      if (target?.account === stored.account && isBeingMade(target)) return undefined;
      const message = `spec.${need.field}: ${lacks}`;
      return { is: 'wait', reason: 'ReferenceNotReady', message };
    }
  }
  return found;
}

/**
 * True for an object that was never reconciled or is being created. Other objects that refer to it wait, and their
 * status does not mention the wait.
 */
export function isBeingMade({ object, status: { conditions, memory } }: Stored): boolean {
  const reason = readyIn(conditions)?.reason;
  if (memory.id !== undefined) return false;
  return object.metadata.deletionTimestamp === undefined && (reason === undefined || reason === 'Creating');
}

async function materialOf<Value>(
  kind: 'Secret' | 'ConfigMap',
  needs: readonly MaterialNeed[],
  read: (name: string) => Promise<ReadonlyMap<string, Value> | undefined>,
  isNeeded: (need: MaterialNeed) => boolean,
): Promise<Map<string, Value> | Verdict> {
  const found = new Map<string, Value>();
  for (const need of needs) {
    const keys = await read(need.name);
    const value = keys?.get(need.key);
    if (value !== undefined) found.set(`${need.name}/${need.key}`, value);
    else if (isNeeded(need)) {
      const missing =
        keys === undefined ? `${kind} ${need.name} does not exist` : `${kind} ${need.name} has no key "${need.key}"`;
      return { is: 'wait', reason: `${kind}Missing`, message: `spec.${need.field}: ${missing}` };
    }
  }
  return found;
}

/** Describes the object for the decision code of its kind. */
function subjectOf(stored: Stored): Subject {
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

// ---- relations between resources -------------------------------------------------------------------------------
//
// These functions find out which resource owns an id of the service, which resources refer to an object, and which
// resources use an account.

/**
 * Finds the oldest other resource of the same kind, in the same account, that has this id or may adopt the object with
 * this id.
 */
function claimantOf(parts: AccountParts, stored: Stored, id: string): ReturnType<Pass['claimant']> {
  const others = claiming(parts, stored, stored.kind.kind, id).filter((other) => mayClaim(other, parts.accounts, id));
  const [first] = others.toSorted((a, b) => (goesFirst(a.object, b.object) ? -1 : 1));
  if (first === undefined) return undefined;
  return { name: storedInWords(first), goesFirst: goesFirst(first.object, stored.object) };
}

/** Returns the other resources of a kind that claim this id in the same account of the service. */
function claiming({ objects, accounts }: AccountParts, stored: Stored, kind: string, id: string): readonly Stored[] {
  const mine = accounts.opened(stored.account)?.service;
  return objects
    .indexedBy(indexKey.claim(kind, id))
    .filter((other) => other.key !== stored.key && sameAccount(other, mine, accounts));
}

/**
 * Returns all resources of a kind that use the same account of the service as this object, even if they use it through
 * a different account resource.
 */
function inAccount({ objects, accounts }: AccountParts, stored: Stored, kind: string): readonly Related[] {
  const mine = accounts.opened(stored.account)?.service;
  const others = [...accounts.allOpened()].filter(([, { service }]) => mine !== undefined && samePlace(service, mine));
  const keys = new Set([stored.account, ...others.map(([key]) => key)]);
  const users = [...keys].flatMap((key) => objects.indexedBy(indexKey.account(key)));
  return users.filter((other) => other.kind.kind === kind).map((other) => relation(other));
}

function relation(other: Stored): Related {
  const { id, facts, binding, journal, ownership } = other.status.memory;
  return {
    name: storedInWords(other),
    namespace: other.object.metadata.namespace,
    id,
    ownership,
    facts: isRecord(facts) ? facts : {},
    takenUp: binding !== undefined,
    ...(journal !== undefined && { begunMs: Date.parse(journal.startedAt) }),
    inDoubt: journal !== undefined && other.kind.answered?.(other.status.memory) !== true,
    spec: other.spec.is === 'valid' ? other.spec.value : undefined,
    finished: other.kind.finished?.(facts) === true,
  };
}

/** True when an object may claim an id: its status has the id, or its spec names the id and adoption is allowed. */
function mayClaim(other: Stored, accounts: Accounts, id: string): boolean {
  if (other.status.memory.id === id) return true;
  const opened = accounts.opened(other.account);
  const wish = other.spec.is === 'valid' ? lifecycleIn(other.spec.value).adoption : undefined;
  return opened !== undefined && adoptionWithin(accounts.terms(opened), wish) !== 'Never';
}

function sameAccount(other: Stored, mine: Service | undefined, accounts: Accounts): boolean {
  const where = other.status.memory.binding ?? accounts.opened(other.account)?.service;
  return where !== undefined && mine !== undefined && samePlace(where, mine);
}

function samePlace(one: ServicePlace, other: ServicePlace): boolean {
  return one.endpoint === other.endpoint && one.accountId === other.accountId;
}

/** Returns the keys of all resources whose spec refers to this object. */
export function usersOf({ objects }: AccountParts, { object }: Stored): readonly string[] {
  const users = objects.indexedBy(indexKey.object(object.kind, object.metadata.namespace, object.metadata.name));
  return users.map(({ key }) => key).toSorted();
}

/**
 * Counts the resources that use this account, and names the first few. A resource in a namespace that the account does
 * not allow counts only while it has the operator's finalizer.
 */
export function dependentsOf({ objects, accounts }: AccountParts, stored: Stored): ReturnType<Pass['dependents']> {
  const named = objects.indexedBy(indexKey.account(stored.key));
  const users = named.filter(
    ({ object }) => isHeldByUs(object) || accounts.allows(stored, object.metadata.namespace ?? ''),
  );
  return { count: users.length, first: users.slice(0, 3).map((user) => storedInWords(user)) };
}
