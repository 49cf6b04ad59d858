/**
 * The state of accounts: whether their users may go on, when an account is reconciled again, and what it is used for.
 *
 * Guarantees: an account's users are reconciled exactly when it begins or ceases to serve them, or its rules change; an
 * account whose lists suddenly lack what we own is frozen until that is explained; many changes of its users cost one
 * recount.
 */
import type { Clock } from '../../base/time.ts';
import { type InProcessStates, markOf } from '../objects/in-process.ts';
import { tie, type ObjectIndex, type Stored, acceptMissingToken, storedInWords } from '../objects/stored.ts';
import type { Subscriptions } from '../objects/subscriptions.ts';
import type { Accounts, Session } from './accounts.ts';
import type { Reason } from '../kind/contract/reasons.ts';
import type { Verdict } from '../kind/contract/step.ts';
import { annotations, type AnyKind } from '../kind/contract/define.ts';
import type { Service } from '../ports.ts';
import { urgencies, type WorkQueue } from '../queue.ts';
import type { OperatorKey } from '../objects/fingerprint.ts';
import type { Orphan, Usage, Use } from '../kind/contract/pass.ts';

/** The delay after which an account recounts its users, once for all changes until then. */
const recountMs = 30_000;
/** The same where it changes how many of them wait for the service or for a permission. */
const waitingMs = 5_000;

/** Reasons for which an account is not Ready while its objects go on with what was read last. */
const passing: ReadonlySet<string> = new Set<Reason>([
  'VisibilityLost',
  'ServiceUnavailable',
  'UnexpectedResponse',
  'Throttled',
  'InUse',
  'InternalError',
  'Paused',
]);

/** The parts that are shared with the engine. */
export interface GateParts {
  readonly objects: ObjectIndex;
  readonly accounts: Accounts;
  readonly subscriptions: Subscriptions;
  readonly inProcessStates: InProcessStates;
  readonly clock: Clock;
  readonly settings: { readonly horizonMs: number };
  readonly queue: Pick<WorkQueue, 'enqueue'>;
  /** Looks again at everything that a tie holds. */
  readonly wake: (name: string) => void;
}

export class AccountGate {
  readonly #parts: GateParts;
  readonly #visibility = new Visibility();

  constructor(parts: GateParts) {
    this.#parts = parts;
  }

  /**
   * Enqueues the account of an object to count its users when one came, went or changed its standing: at once when the
   * account waits to be deleted, else once for many changes.
   */
  recount(before: Stored | undefined, now: Stored | undefined): void {
    const { objects, queue } = this.#parts;
    const [was, is] = [standingOf(before), standingOf(now)];
    const { kind, account = '' } = now ?? before ?? {};
    if (kind?.life === 'account' || was === is) return;
    const isLeaving = objects.get(account)?.object.metadata.deletionTimestamp !== undefined;
    if (isLeaving) queue.enqueue(account, urgencies.change);
    else if (isWait(was) || isWait(is)) queue.enqueue(account, urgencies.change, waitingMs);
    else queue.enqueue(account, urgencies.resync, recountMs);
  }

  /**
   * A request with a credential of the account got a 429: tells it in the account's status, at once when it is news, else
   * once for many.
   */
  heldBack(service: Service): void {
    const { accounts, objects, queue } = this.#parts;
    const account = accounts.keyOf(service);
    if (account === undefined) return;
    const told = objects.get(account)?.status.conditions.find(({ type }) => type === 'Throttled');
    queue.enqueue(account, urgencies.change, told?.status === 'True' ? waitingMs : 0);
  }

  /** Freezes an account whose list suddenly lacks objects that we own, and unfreezes it again. */
  listed(service: Service, key: string): void {
    const { accounts, subscriptions, queue, wake } = this.#parts;
    const users = subscriptions.usersOf(service, key);
    const account = accounts.keyOf(service);
    const session = account === undefined ? undefined : accounts.session(account);
    if (users === undefined || account === undefined || session === undefined || users.read.absentOn404) return;
    const items = service.snapshot(users.read)?.items;
    if (items === undefined) return;
    const owned = [...users.uses].flatMap(([object, { ids }]) => ids.flatMap((id) => this.#owned(object, id, items)));
    const frozen = this.#visibility.listed(service, key, owned, items.size === 0);
    if (frozen === session.frozen) return;
    session.frozen = frozen;
    queue.enqueue(account, urgencies.change);
    wake(tie.account(account));
  }

  #owned(object: string, id: string, items: ReadonlyMap<string, unknown>): readonly Owned[] {
    const stored = this.#parts.objects.get(object);
    if (stored === undefined || stored.status.memory.id !== id) return [];
    // An object that is being deleted may be gone by our own call.
    if (stored.object.metadata.deletionTimestamp !== undefined) return [];
    if (this.#parts.objects.tiedBy(tie.wipe(id)).length > 0) return [];
    const { wrote, notes, looks } = this.#parts.inProcessStates.of(stored.object.metadata.uid);
    // Leave out objects that wait for something else: they are not read, so they could never be proved gone.
    if (!looks) return [];
    const young = wrote !== undefined && this.#parts.clock.monotonic() - wrote.at < this.#parts.settings.horizonMs;
    return [{ object, shown: items.has(id), provedGone: notes['provedGone'] !== undefined, young }];
  }

  /** Honours the annotation that accepts a loss, once per token. */
  noteAccepted(stored: Stored): void {
    const token = acceptMissingToken(stored.object);
    const session = this.#parts.accounts.session(stored.key);
    if (token === undefined || session === undefined || session.acceptedMissing === token) return;
    session.acceptedMissing = token;
    // The token is written to status, or it would count once more in the next process.
    this.#parts.queue.enqueue(stored.key, urgencies.change);
    if (session.frozen === undefined) return;
    this.#visibility.accept(session.service);
    session.frozen = undefined;
    this.#parts.wake(tie.account(stored.key));
  }

  /** Takes an account's verdict: it decides whether the objects that use the account may go on. */
  concluded(stored: Stored, verdict: Verdict): void {
    const { accounts, queue, settings, wake } = this.#parts;
    if (stored.kind.life !== 'account') return;
    const session = accounts.session(stored.key);
    // An account that is being deleted still serves its users, or their deletion could not finish.
    const isKnown = session?.admission?.admitted === true || stored.status.memory.binding !== undefined;
    const admitted = verdict.is === 'ready' || (isKnown && passing.has(verdict.reason ?? 'InSync'));
    const before = session?.admission;
    const { slowedMs } = session === undefined ? {} : accounts.slowdown(session);
    if (slowedMs !== undefined) queue.enqueue(stored.key, urgencies.change, slowedMs + 1);
    if (session?.isSuspicious === true) {
      const afterMs = settings.horizonMs + 2 * session.service.health().pollIntervalMs;
      queue.enqueue(stored.key, urgencies.resync, afterMs);
    }
    if (session !== undefined) {
      const { lifecycle, allowedNamespaces } = session.spec;
      const rules = JSON.stringify([lifecycle, allowedNamespaces]);
      session.admission = { admitted, reason: verdict.reason ?? 'InSync', message: verdict.message ?? '', rules };
    }
    const isSame = before?.admitted === admitted && before.rules === session?.admission?.rules;
    if (!isSame || session === undefined) wake(tie.account(stored.key));
  }
}

/**
 * A circuit breaker for lists that suddenly lack what we own: after a narrowed token, a switched account or a fault of the
 * service.
 *
 * Guarantees: while it is open nothing is created or deleted in the account; it closes when every missing object shows
 * again or is proved gone, or when the account's owner accepts the loss.
 *
 * Why: docs/design/absence-and-visibility.md#too-many-missing-at-once-freeze-the-account
 */
/** An object that should show in a list, and whether a direct look has proved it gone. */
export interface Owned {
  readonly object: string;
  readonly shown: boolean;
  readonly provedGone: boolean;
  /** Written so recently that a list may not show it yet. */
  readonly young: boolean;
}

const fewest = 3;
const share = 0.05;

class Visibility {
  readonly #missing = new WeakMap<Service, Map<string, ReadonlySet<string>>>();
  readonly #accepted = new Set<string>();

  /** Takes what a full list shows of the objects that we own; returns why the account is frozen now, if it is. */
  listed(service: Service, readKey: string, owned: readonly Owned[], isEmpty: boolean): string | undefined {
    const settled = owned.filter(({ young }) => !young);
    const missing = settled.filter(
      ({ object, shown, provedGone }) => !shown && !provedGone && !this.#accepted.has(object),
    );
    for (const { object, shown } of owned) if (shown) this.#accepted.delete(object);
    const lists = this.#missing.get(service) ?? new Map<string, ReadonlySet<string>>();
    this.#missing.set(service, lists);
    const wasOpen = lists.has(readKey);
    const tooMany = missing.length > Math.max(fewest, settled.length * share) || (isEmpty && missing.length > 0);
    if (tooMany || (wasOpen && missing.length > 0)) lists.set(readKey, new Set(missing.map(({ object }) => object)));
    else lists.delete(readKey);
    return this.frozen(service);
  }

  /** Why nothing may be created or deleted in the account; undefined when all is well. */
  frozen(service: Service): string | undefined {
    const lists = [...(this.#missing.get(service) ?? [])];
    if (lists.length === 0) return undefined;
    const count = lists.reduce((sum, [, objects]) => sum + objects.size, 0);
    const names = lists
      .map(([key]) => key)
      .toSorted()
      .slice(0, 3)
      .join(', ');
    return `${count} owned object${count === 1 ? ' is' : 's are'} suddenly missing from ${names}; nothing is created or deleted until each shows again or is proved gone; to accept that they are gone, give the account the annotation ${annotations.acceptMissing} with a new text`;
  }

  /** The owner of the account accepts that what is missing is gone. */
  accept(service: Service): void {
    for (const objects of this.#missing.get(service)?.values() ?? [])
      for (const object of objects) this.#accepted.add(object);
    this.#missing.delete(service);
  }
}

// ---- usage of an account ---------------------------------------------------------------------------------------
//
// The usage of an account: how many resources it has, and orphans, objects of the service that carry our mark without a resource.
//
// Only lists that some resource already polls are searched. Only a mark made with our key counts. An
// object is an orphan only if it still has no resource one horizon after it was first seen, since lists lag and a resource
// may be about to learn its id.

/** The parts that counting needs. */
export interface UsageSources {
  readonly objects: ObjectIndex;
  readonly subscriptions: Subscriptions;
  readonly kinds: readonly AnyKind[];
  readonly inProcessStates: InProcessStates;
  readonly key: OperatorKey;
  readonly settings: { readonly horizonMs: number; readonly seesAll: boolean };
}

/**
 * What an account is used for. With a label selector no orphans are reported: the resource may belong to another operator.
 */
export function usageOf(around: UsageSources, account: Stored, session: Session | undefined): Usage {
  const searched = around.settings.seesAll ? session : undefined;
  return {
    counts: usesOf(around.objects, account),
    throttled: throttledOf(around.objects, account),
    forbidden: forbiddenIn(around.objects, account),
    orphans: searched === undefined ? [] : around.kinds.flatMap((kind) => orphansOf(around, searched, kind)),
  };
}

function usesOf(objects: ObjectIndex, account: Stored): readonly Use[] {
  const uses = new Map<string, Use>();
  for (const key of objects.tiedBy(tie.account(account.key))) {
    const stored = objects.get(key);
    if (stored === undefined) continue;
    const { kind } = stored.kind;
    const { total, ready } = uses.get(kind) ?? { total: 0, ready: 0 };
    uses.set(kind, { kind, total: total + 1, ready: ready + (isReady(stored) ? 1 : 0) });
  }
  return [...uses.values()].toSorted((a, b) => (a.kind < b.kind ? -1 : 1));
}

/** How many resources wait for the end of a pause that the service asked for, as their status says. */
function throttledOf(objects: ObjectIndex, account: Stored): number {
  const waits = (key: string): boolean => key !== account.key && standingOf(objects.get(key)) === 'Throttled';
  return objects.tiedBy(tie.account(account.key)).filter(waits).length;
}

/** What a resource counts as for its account; undefined when it is gone. */
type Standing = 'Ready' | 'Throttled' | 'Forbidden' | 'NotReady';

/** What a resource counts as, by its status. */
function standingOf(stored: Stored | undefined): Standing | undefined {
  if (stored === undefined) return undefined;
  if (isReady(stored)) return 'Ready';
  const reason = stored.status.conditions.find(({ type }) => type === 'Ready')?.reason;
  return reason === 'Throttled' || reason === 'Forbidden' ? reason : 'NotReady';
}

/** True for a resource that waits for the service or for a permission, which the account counts. */
function isWait(standing: Standing | undefined): boolean {
  return standing === 'Throttled' || standing === 'Forbidden';
}

const mostNamed = 3;

/** The resources that wait for a permission of the account's token, the first few with the call that was refused. */
function forbiddenIn(objects: ObjectIndex, account: Stored): Usage['forbidden'] {
  const waiting = objects.tiedBy(tie.account(account.key)).flatMap((key) => {
    const stored = objects.get(key);
    const refused = stored?.status.conditions.find(({ type, reason }) => type === 'Ready' && reason === 'Forbidden');
    return stored === undefined || refused === undefined ? [] : [`${storedInWords(stored)}: ${refused.message}`];
  });
  return { count: waiting.length, first: waiting.toSorted().slice(0, mostNamed) };
}

/** Whether a resource is Ready, as its status says. */
function isReady({ status }: Stored): boolean {
  return status.conditions.some(({ type, status }) => type === 'Ready' && status === 'True');
}

function orphansOf(around: UsageSources, session: Session, kind: AnyKind): readonly Orphan[] {
  const { marks } = kind;
  if (marks === undefined) return [];
  const { objects, subscriptions, key, settings } = around;
  const holders = holdersOf(around, session, kind);
  const suspects = new Map<string, number>();
  const found: Orphan[] = [];
  for (const read of subscriptions.readsOf(session.service)) {
    const snapshot = read.key.startsWith(`${marks.collection}/`) ? session.service.snapshot(read) : undefined;
    for (const [id, item] of snapshot?.items ?? []) {
      const { mark, name } = marks.read(item);
      if (snapshot === undefined || mark === undefined || !key.isOwn(mark)) continue;
      const isKnown = objects.tiedBy(tie.claim(kind.kind, id)).length > 0;
      const isAwaited = holders.has(mark) && holders.get(mark) === undefined;
      if (isKnown || isAwaited) continue;
      const since = session.suspects.get(id) ?? snapshot.begunAt;
      suspects.set(id, since);
      if (snapshot.begunAt - since >= settings.horizonMs) found.push({ type: marks.noun, externalId: id, name });
    }
  }
  session.suspects = suspects;
  session.isSuspicious = suspects.size > found.length;
  return found.toSorted((a, b) => (a.externalId < b.externalId ? -1 : 1));
}

/** The resource that made each mark, with the id that it is bound to. */
function holdersOf(
  { objects, inProcessStates, key }: UsageSources,
  { service }: Session,
  kind: AnyKind,
): ReadonlyMap<string, string | undefined> {
  const holders = new Map<string, string | undefined>();
  for (const { kind: other, object, status } of objects.values()) {
    if (other !== kind) continue;
    const { id, binding } = status.memory;
    const isElsewhere =
      binding !== undefined && (binding.endpoint !== service.endpoint || binding.accountId !== service.accountId);
    if (!isElsewhere)
      holders.set(markOf(inProcessStates.of(object.metadata.uid), key, service, object.metadata.uid), id);
  }
  return holders;
}
