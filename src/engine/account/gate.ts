/**
 * Decides whether the resources of an account may be reconciled, and when the account itself is reconciled again. Also
 * counts the resources that use the account.
 *
 * Guarantees: the resources of an account are reconciled when the account becomes usable or unusable, or when the rules
 * in its spec change. An account is frozen while objects that its resources own are suddenly missing from a list. If
 * many resources change within a short time, the account counts its resources only once.
 */
import type { EngineOptions } from '../options.ts';
import type { InProcessStates } from '../objects/in-process.ts';
import type { Subscriptions } from '../objects/subscriptions.ts';
import {
  indexKey,
  type ObjectIndex,
  type Stored,
  acceptMissingToken,
  readyIn,
  countGroupOf,
  storedInWords,
  type CountGroup,
} from '../objects/stored.ts';
import { type Accounts, type OpenAccount, whyFrozen } from './accounts.ts';
import type { Reason } from '../kind/contract/reasons.ts';
import type { Verdict } from '../kind/contract/step.ts';
import type { AnyKind } from '../kind/contract/define.ts';
import type { Service } from '../ports.ts';
import { urgencies, type WorkQueue } from '../queue.ts';
import type { Orphan, Usage } from '../kind/contract/pass.ts';

/**
 * After a change of a resource, its account waits this long before it counts its resources again. All changes during
 * this time cause only one count.
 */
const recountMs = 30_000;
/**
 * When a resource begins or ceases to be Throttled or Forbidden, its account waits only this long before it counts its
 * resources again. So the account's status soon mentions it.
 */
const waitingMs = 5_000;

/**
 * If an account was usable before and is not Ready for one of these reasons, the resources that use it are still
 * reconciled.
 */
const passing: ReadonlySet<string> = new Set<Reason>([
  'VisibilityLost',
  'ServiceUnavailable',
  'UnexpectedResponse',
  'Throttled',
  'InUse',
  'InternalError',
  'Paused',
]);

/**
 * The engine's options, its work queue, and what it knows between reconciles: the objects, the accounts, which lists
 * each object uses, and what this process remembers of each object.
 */
export interface AccountParts extends EngineOptions {
  readonly queue: WorkQueue;
  readonly objects: ObjectIndex;
  readonly accounts: Accounts;
  readonly subscriptions: Subscriptions;
  readonly inProcessStates: InProcessStates;
}

/**
 * An account is frozen, so that nothing may be created or deleted in it, when too many of its owned objects are missing
 * from a list: more than three, and more than 5 % of all its owned objects that the list should contain. A single
 * missing object is enough if the list is empty, or if the account is frozen already because of this list.
 */
const tolerated = 3;
const toleratedShare = 0.05;

/**
 * Decides whether the resources that use an account may be reconciled, and enqueues the account and these resources
 * when that changes.
 *
 * Also freezes an account when objects that its resources own are suddenly missing from a list. The token may have lost
 * permissions or belong to a different account now, or the service may be faulty. While an account is frozen, nothing
 * is created or deleted in it. The freeze ends when every missing object appears in a list again or further reads have
 * proved it gone, or when the account's owner accepts the loss.
 *
 * Why: docs/design/absence-and-visibility.md#freeze-the-account-when-too-many-objects-are-missing-at-once
 */
export class AccountGate {
  readonly #parts: AccountParts;
  /**
   * Keys of the resources whose missing objects the account's owner has accepted as gone. A key is removed when a list
   * contains the object again.
   */
  readonly #accepted = new Set<string>();

  constructor(parts: AccountParts) {
    this.#parts = parts;
  }

  /** Enqueues every resource that uses an account. */
  wakeUsers(account: string): void {
    const { objects, queue } = this.#parts;
    for (const { key } of objects.indexedBy(indexKey.account(account))) queue.enqueue(key, urgencies.change);
  }

  /**
   * Enqueues an account, whose reconcile counts the resources that use the account. Called after one of these resources
   * was created or deleted, or has changed its `CountGroup`. An account that is being deleted is enqueued at once. Any
   * other account is enqueued after a delay, so that many changes cause only one count.
   */
  recount(account: string, groups: readonly (CountGroup | undefined)[]): void {
    const { objects, queue } = this.#parts;
    const isLeaving = objects.get(account)?.object.metadata.deletionTimestamp !== undefined;
    if (isLeaving) queue.enqueue(account, urgencies.change);
    else if (groups.includes('Throttled') || groups.includes('Forbidden'))
      queue.enqueue(account, urgencies.change, waitingMs);
    else queue.enqueue(account, urgencies.resync, recountMs);
  }

  /**
   * Enqueues the account of this connection, so that the account's status mentions the throttling. Called for each
   * account that uses a credential when the service answers a request with that credential with 429 or 425. If status
   * mentions the throttling already, the account is enqueued after a delay, otherwise at once.
   */
  toldToSlowDown(service: Service): void {
    const { accounts, objects, queue } = this.#parts;
    const [account] = accounts.accountWith(service) ?? [];
    if (account === undefined) return;
    const told = objects.get(account)?.status.conditions.find(({ type }) => type === 'Throttled');
    queue.enqueue(account, urgencies.change, told?.status === 'True' ? waitingMs : 0);
  }

  /**
   * Called when a list was read. Freezes the account if objects that its resources own are suddenly missing from the
   * list: nothing may then be created or deleted in it. Ends the freeze when the list contains the objects again.
   */
  listed(service: Service, key: string): void {
    const { accounts, subscriptions, queue } = this.#parts;
    const users = subscriptions.usersOf(service, key);
    const [account, opened] = accounts.accountWith(service) ?? [];
    if (users === undefined || account === undefined || opened === undefined || users.read.absentOn404) return;
    const items = service.snapshot(users.read)?.items;
    if (items === undefined) return;
    // In the usual case, the list contains every owned object, and none was missing from it before. Then nothing
    // changes for the account.
    const showsAll = [...users.uses.values()].every(({ ids }) => ids.every((id) => items.has(id)));
    if (showsAll && !opened.missing.has(key) && this.#accepted.size === 0) return;
    const owned = [...users.uses].flatMap(([object, { ids }]) => ids.flatMap((id) => this.#owned(object, id, items)));
    const missing = owned.filter(({ isMissing }) => isMissing).map(({ object }) => object);
    const isOneTooMany = items.size === 0 || opened.missing.has(key);
    const before = whyFrozen(opened);
    if (missing.length > (isOneTooMany ? 0 : Math.max(tolerated, owned.length * toleratedShare)))
      opened.missing.set(key, missing);
    else opened.missing.delete(key);
    if (whyFrozen(opened) === before) return;
    queue.enqueue(account, urgencies.change);
    this.wakeUsers(account);
  }

  /**
   * Returns whether the object that a resource owns is missing from the list. Returns an empty array if the list proves
   * nothing about this object, for example because the resource is being deleted.
   */
  #owned(
    object: string,
    id: string,
    items: ReadonlyMap<string, unknown>,
  ): readonly { readonly object: string; readonly isMissing: boolean }[] {
    const { objects, inProcessStates, clock, settings } = this.#parts;
    const stored = objects.get(object);
    if (stored === undefined || stored.status.memory.id !== id) return [];
    // Skip a resource that is being deleted: its object may be missing because the operator deleted it.
    if (stored.object.metadata.deletionTimestamp !== undefined) return [];
    if (objects.indexedBy(indexKey.wipe(id)).length > 0) return [];
    const { wrote, notes, looks } = inProcessStates.of(stored.object.metadata.uid);
    // Skip a resource whose last reconcile did not read the service, for example because the resource is paused. Such a
    // reconcile could never prove that the object is gone. Also skip a resource that this process has not reconciled yet.
    if (!looks) return [];
    // Skip an object that the operator wrote only a short time ago, because the list may be too old to contain it.
    if (wrote !== undefined && clock.monotonic() - wrote.at < settings.horizonMs) return [];
    if (items.has(id)) this.#accepted.delete(object);
    const isExplained = items.has(id) || notes.provedGone === true || this.#accepted.has(object);
    return [{ object, isMissing: !isExplained }];
  }

  /**
   * Handles the annotation `apphosting.dev/accept-missing`, by which an owner accepts missing objects as gone. Each
   * value of the annotation is handled once.
   */
  noteAccepted(stored: Stored): void {
    const token = acceptMissingToken(stored.object);
    const opened = this.#parts.accounts.opened(stored.key);
    if (token === undefined || opened === undefined || opened.acceptedMissing === token) return;
    opened.acceptedMissing = token;
    // Enqueue the account so that its status records this value of the annotation as handled. Otherwise the next
    // process would handle the same value once more.
    this.#parts.queue.enqueue(stored.key, urgencies.change);
    if (opened.missing.size === 0) return;
    for (const key of [...opened.missing.values()].flat()) this.#accepted.add(key);
    opened.missing.clear();
    this.wakeUsers(stored.key);
  }

  /**
   * Takes the result of an account's reconcile, and decides from it whether the resources that use the account may be
   * reconciled.
   */
  concluded(stored: Stored, verdict: Verdict): void {
    const { accounts, queue, settings } = this.#parts;
    const opened = accounts.opened(stored.key);
    if (opened === undefined) {
      this.wakeUsers(stored.key);
      return;
    }
    const { admission: before, service, spec } = opened;
    // An account that is being deleted still serves the resources that use it; otherwise their deletions could not
    // finish.
    const isKnown = before?.admitted === true || stored.status.memory.binding !== undefined;
    const admitted = verdict.is === 'ready' || (isKnown && passing.has(verdict.reason ?? 'InSync'));
    const rules = JSON.stringify([spec.lifecycle, spec.allowedNamespaces]);
    opened.admission = { admitted, message: verdict.message ?? '', rules };
    if (before?.admitted !== admitted || before.rules !== rules) this.wakeUsers(stored.key);
    const { slowedMs } = accounts.slowdown(opened);
    if (slowedMs !== undefined) queue.enqueue(stored.key, urgencies.change, slowedMs + 1);
    const suspiciousMs = settings.horizonMs + 2 * service.polling().pollIntervalMs;
    if (opened.isSuspicious) queue.enqueue(stored.key, urgencies.resync, suspiciousMs);
  }
}

// ---- usage of an account ---------------------------------------------------------------------------------------
//
// The usage of an account: its number of resources, and its orphans. An orphan is an object of the service that carries
// this operator's ownership mark although no resource has its id, or still waits for an object with this mark.
//
// The operator looks for orphans only in lists that it polls for some resource anyway. An ownership mark counts only if
// it was made with this operator's key. An object is reported as an orphan only some time after it first appeared in a
// list (`--horizon-seconds`), because lists may be outdated, and a resource may be about to learn the object's id.

const mostNamed = 3;

/**
 * Counts the resources of an account and finds its orphans. If the operator runs with a label selector, no orphans are
 * reported, because resources of another operator may own the objects.
 */
export function usageOf(around: AccountParts, account: Stored, opened: OpenAccount | undefined): Usage {
  const { objects, kinds, settings } = around;
  const users = objects.indexedBy(indexKey.account(account.key));
  const counts = [...Map.groupBy(users, ({ kind }) => kind.kind)].map(([kind, ofKind]) => ({
    kind,
    total: ofKind.length,
    ready: ofKind.filter((user) => countGroupOf(user) === 'Ready').length,
  }));
  const forbidden = users
    .filter((user) => countGroupOf(user) === 'Forbidden')
    .map((user) => `${storedInWords(user)}: ${readyIn(user.status.conditions)?.message}`);
  const searched = settings.seesAll ? opened : undefined;
  return {
    counts: counts.toSorted((a, b) => (a.kind < b.kind ? -1 : 1)),
    throttled: users.filter((user) => countGroupOf(user) === 'Throttled').length,
    // Name the first few resources that lack a permission, each with its message, because the message says which call
    // was refused.
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

/** Returns the ownership marks of all resources of a kind that have no id in the service yet. */
function awaitedMarks(
  { objects, inProcessStates, key }: AccountParts,
  { service }: OpenAccount,
  kind: AnyKind,
): ReadonlySet<string> {
  const unbound = [...objects.values()].filter((one) => one.kind === kind && one.status.memory.id === undefined);
  return new Set(unbound.map(({ object }) => inProcessStates.of(object.metadata.uid).mark(key, service)));
}
