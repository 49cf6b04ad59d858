/**
 * Decides whether the resources of an account may go on and when the account is reconciled again, and counts the use of the
 * account.
 *
 * Guarantees: the resources of an account are reconciled when the account begins or ceases to serve them, or when its rules change.
 * An account whose lists suddenly lack owned objects is frozen until that is explained. Many changes of its resources cost one
 * recount.
 */
import type { EngineOptions } from '../options.ts';
import type { InProcessStates, Subscriptions } from '../objects/in-process.ts';
import {
  indexKey,
  type ObjectIndex,
  type Stored,
  acceptMissingToken,
  readyIn,
  standingOf,
  storedInWords,
  type Standing,
} from '../objects/stored.ts';
import { type Accounts, type OpenAccount, whyFrozen } from './accounts.ts';
import type { Reason } from '../kind/contract/reasons.ts';
import type { Verdict } from '../kind/contract/step.ts';
import type { AnyKind } from '../kind/contract/define.ts';
import type { Service } from '../ports.ts';
import { urgencies, type WorkQueue } from '../queue.ts';
import type { Orphan, Usage } from '../kind/contract/pass.ts';

/** The delay after which an account counts its users again, once for all changes until then. */
const recountMs = 30_000;
/** The delay of a recount when the number of users changes that wait for the service or for a permission. Shorter than usual. */
const waitingMs = 5_000;

/** Reasons for which an account is not Ready, while its objects still continue with what was read last. */
const passing: ReadonlySet<string> = new Set<Reason>([
  'VisibilityLost',
  'ServiceUnavailable',
  'UnexpectedResponse',
  'Throttled',
  'InUse',
  'InternalError',
  'Paused',
]);

/** The parts of the engine that know the accounts and the objects that use them. */
export interface AccountParts extends EngineOptions {
  readonly objects: ObjectIndex;
  readonly accounts: Accounts;
  readonly subscriptions: Subscriptions;
  readonly inProcessStates: InProcessStates;
}

/** The parts of the engine that know accounts, and also the queue and a way to wake objects. */
interface GateParts extends AccountParts {
  readonly queue: Pick<WorkQueue, 'enqueue'>;
  /** Enqueues every object that is indexed under an index key. */
  readonly wake: (name: string) => void;
}

/** How many owned objects a list may lack: this number or this share of those that it should show, whichever is greater. */
const fewest = 3;
const share = 0.05;

/**
 * Decides whether the users of an account may go on, and enqueues the account and its users when that changes.
 *
 * It also freezes an account whose lists suddenly lack owned objects: after a narrowed token, a switched account or a fault of the
 * service. While an account is frozen, nothing is created or deleted in it. The freeze ends when every missing object shows again
 * or is proved gone, or when the account's owner accepts the loss.
 *
 * Why: docs/design/absence-and-visibility.md#too-many-missing-at-once-freeze-the-account
 */
export class AccountGate {
  readonly #parts: GateParts;
  /** Missing objects that the owner of an account has accepted as gone, until they show again. */
  readonly #accepted = new Set<string>();

  constructor(parts: GateParts) {
    this.#parts = parts;
  }

  /**
   * Makes an account count its users again, after a user was created or deleted, or changed its `Standing`. An account that is
   * being deleted is enqueued at once, others once for many changes.
   */
  recount(account: string, standings: readonly (Standing | undefined)[]): void {
    const { objects, queue } = this.#parts;
    const isLeaving = objects.get(account)?.object.metadata.deletionTimestamp !== undefined;
    if (isLeaving) queue.enqueue(account, urgencies.change);
    else if (standings.includes('Throttled') || standings.includes('Forbidden'))
      queue.enqueue(account, urgencies.change, waitingMs);
    else queue.enqueue(account, urgencies.resync, recountMs);
  }

  /**
   * Enqueues the account of a credential that got a 429 or 425, so that status says so: at once for the first answer of this kind,
   * after a delay for further ones.
   */
  toldToSlowDown(service: Service): void {
    const { accounts, objects, queue } = this.#parts;
    const account = accounts.accountWith(service);
    if (account === undefined) return;
    const told = objects.get(account)?.status.conditions.find(({ type }) => type === 'Throttled');
    queue.enqueue(account, urgencies.change, told?.status === 'True' ? waitingMs : 0);
  }

  /** Freezes an account whose newest list suddenly lacks owned objects, and unfreezes it when the list shows them again. */
  listed(service: Service, key: string): void {
    const { accounts, subscriptions, queue, wake } = this.#parts;
    const users = subscriptions.usersOf(service, key);
    const account = accounts.accountWith(service);
    const opened = account === undefined ? undefined : accounts.opened(account);
    if (users === undefined || account === undefined || opened === undefined || users.read.absentOn404) return;
    const items = service.snapshot(users.read)?.items;
    if (items === undefined) return;
    // Most lists show everything: then there is nothing to freeze, to unfreeze or to forget.
    const showsAll = [...users.uses.values()].every(({ ids }) => ids.every((id) => items.has(id)));
    if (showsAll && !opened.missing.has(key) && this.#accepted.size === 0) return;
    const owned = [...users.uses].flatMap(([object, { ids }]) => ids.flatMap((id) => this.#owned(object, id, items)));
    const missing = owned.filter(({ isMissing }) => isMissing).map(({ object }) => object);
    // A single missing object freezes the account when the list is empty, or when this list has frozen the account already.
    const isOneTooMany = items.size === 0 || opened.missing.has(key);
    const before = whyFrozen(opened);
    if (missing.length > (isOneTooMany ? 0 : Math.max(fewest, owned.length * share))) opened.missing.set(key, missing);
    else opened.missing.delete(key);
    if (whyFrozen(opened) === before) return;
    queue.enqueue(account, urgencies.change);
    wake(indexKey.account(account));
  }

  /**
   * Returns an object that the list should show, and whether it is missing. Returns an empty list for an object of which the list
   * proves nothing.
   */
  #owned(
    object: string,
    id: string,
    items: ReadonlyMap<string, unknown>,
  ): readonly { readonly object: string; readonly isMissing: boolean }[] {
    const { objects, inProcessStates, clock, settings } = this.#parts;
    const stored = objects.get(object);
    if (stored === undefined || stored.status.memory.id !== id) return [];
    // An object that is being deleted may be missing because of our own call.
    if (stored.object.metadata.deletionTimestamp !== undefined) return [];
    if (objects.indexedBy(indexKey.wipe(id)).length > 0) return [];
    const { wrote, notes, looks } = inProcessStates.of(stored.object.metadata.uid);
    // An object that waits for something else is not read, so it could never be proved gone.
    if (!looks) return [];
    // A list may not yet show an object that was written a short time ago.
    if (wrote !== undefined && clock.monotonic() - wrote.at < settings.horizonMs) return [];
    if (items.has(id)) this.#accepted.delete(object);
    const isExplained = items.has(id) || notes['provedGone'] !== undefined || this.#accepted.has(object);
    return [{ object, isMissing: !isExplained }];
  }

  /** Handles the annotation that accepts missing objects as gone, once for each value of the annotation. */
  noteAccepted(stored: Stored): void {
    const token = acceptMissingToken(stored.object);
    const opened = this.#parts.accounts.opened(stored.key);
    if (token === undefined || opened === undefined || opened.acceptedMissing === token) return;
    opened.acceptedMissing = token;
    // Write the value to status, or the next process would handle it once more.
    this.#parts.queue.enqueue(stored.key, urgencies.change);
    if (opened.missing.size === 0) return;
    for (const key of [...opened.missing.values()].flat()) this.#accepted.add(key);
    opened.missing.clear();
    this.#parts.wake(indexKey.account(stored.key));
  }

  /** Takes the result of an account's reconcile, which decides whether the objects that use the account may go on. */
  concluded(stored: Stored, verdict: Verdict): void {
    const { accounts, queue, settings, wake } = this.#parts;
    const opened = accounts.opened(stored.key);
    if (opened === undefined) {
      wake(indexKey.account(stored.key));
      return;
    }
    const { admission: before, service, spec } = opened;
    // An account that is being deleted still serves its users, or their deletions could not finish.
    const isKnown = before?.admitted === true || stored.status.memory.binding !== undefined;
    const admitted = verdict.is === 'ready' || (isKnown && passing.has(verdict.reason ?? 'InSync'));
    const rules = JSON.stringify([spec.lifecycle, spec.allowedNamespaces]);
    opened.admission = { admitted, message: verdict.message ?? '', rules };
    if (before?.admitted !== admitted || before.rules !== rules) wake(indexKey.account(stored.key));
    const { slowedMs } = accounts.slowdown(opened);
    if (slowedMs !== undefined) queue.enqueue(stored.key, urgencies.change, slowedMs + 1);
    const suspiciousMs = settings.horizonMs + 2 * service.health().pollIntervalMs;
    if (opened.isSuspicious) queue.enqueue(stored.key, urgencies.resync, suspiciousMs);
  }
}

// ---- usage of an account ---------------------------------------------------------------------------------------
//
// The usage of an account: how many resources it has, and orphans, objects of the service that carry our mark without a resource.
//
// Only lists that some resource already polls are searched. Only a mark made with our key counts. An
// object is an orphan only if it still has no resource one horizon after it was first seen, since lists lag and a resource
// may be about to learn its id.

const mostNamed = 3;

/**
 * Counts what an account is used for. With a label selector no orphans are reported, since their resources may belong to another
 * operator.
 */
export function usageOf(around: AccountParts, account: Stored, opened: OpenAccount | undefined): Usage {
  const { objects, kinds, settings } = around;
  const users = objects.indexedBy(indexKey.account(account.key));
  const counts = [...Map.groupBy(users, ({ kind }) => kind.kind)].map(([kind, ofKind]) => ({
    kind,
    total: ofKind.length,
    ready: ofKind.filter((user) => standingOf(user) === 'Ready').length,
  }));
  const forbidden = users
    .filter((user) => standingOf(user) === 'Forbidden')
    .map((user) => `${storedInWords(user)}: ${readyIn(user.status.conditions)?.message}`);
  const searched = settings.seesAll ? opened : undefined;
  return {
    counts: counts.toSorted((a, b) => (a.kind < b.kind ? -1 : 1)),
    throttled: users.filter((user) => standingOf(user) === 'Throttled').length,
    // Name the first few resources, because their messages say which call was refused.
    forbidden: { count: forbidden.length, first: forbidden.toSorted().slice(0, mostNamed) },
    orphans: searched === undefined ? [] : kinds.flatMap((kind) => orphansOf(around, searched, kind)),
  };
}

function orphansOf(around: AccountParts, opened: OpenAccount, kind: AnyKind): readonly Orphan[] {
  const { marks } = kind;
  if (marks === undefined) return [];
  const { objects, subscriptions, key, settings } = around;
  const awaited = awaitedMarks(around, opened, kind);
  const suspects = new Map<string, number>();
  const found: Orphan[] = [];
  for (const read of subscriptions.readsOf(opened.service)) {
    const snapshot = read.key.startsWith(`${marks.collection}/`) ? opened.service.snapshot(read) : undefined;
    for (const [id, item] of snapshot?.items ?? []) {
      const { mark, name } = marks.read(item);
      const isKnown = objects.indexedBy(indexKey.claim(kind.kind, id)).length > 0;
      if (snapshot === undefined || mark === undefined || isKnown || awaited.has(mark) || !key.isOwn(mark)) continue;
      const since = opened.suspects.get(id) ?? snapshot.begunAt;
      suspects.set(id, since);
      if (snapshot.begunAt - since >= settings.horizonMs) found.push({ type: marks.noun, externalId: id, name });
    }
  }
  opened.suspects = suspects;
  opened.isSuspicious = suspects.size > found.length;
  return found.toSorted((a, b) => (a.externalId < b.externalId ? -1 : 1));
}

/** Returns the marks of the resources of a kind that have no object in the service yet. */
function awaitedMarks(
  { objects, inProcessStates, key }: AccountParts,
  { service }: OpenAccount,
  kind: AnyKind,
): ReadonlySet<string> {
  const unbound = [...objects.values()].filter((one) => one.kind === kind && one.status.memory.id === undefined);
  return new Set(unbound.map(({ object }) => inProcessStates.of(object.metadata.uid).mark(key, service)));
}
