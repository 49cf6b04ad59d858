/**
 * The usage of an account: how many resources it has, and orphans, objects of the service that carry our mark without a resource.
 *
 * Only lists that some resource already polls are searched. Only a mark made with our key counts. An
 * object is an orphan only if it still has no resource one horizon after it was first seen, since lists lag and a resource
 * may be about to learn its id.
 */
import type { Session } from './accounts.ts';
import { storedInWords, tie, type ObjectIndex, type Stored } from '../objects/object-index.ts';
import type { OperatorKey } from '../objects/fingerprint.ts';
import type { Subscriptions } from '../objects/subscriptions.ts';
import type { AnyKind } from '../kind/contract/define.ts';
import type { Orphan, Usage, Use } from '../kind/contract/pass.ts';
import { markOf, type InProcessStates } from '../objects/in-process.ts';

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
export type Standing = 'Ready' | 'Throttled' | 'Forbidden' | 'NotReady';

/** What a resource counts as, by its status. */
export function standingOf(stored: Stored | undefined): Standing | undefined {
  if (stored === undefined) return undefined;
  if (isReady(stored)) return 'Ready';
  const reason = stored.status.conditions.find(({ type }) => type === 'Ready')?.reason;
  return reason === 'Throttled' || reason === 'Forbidden' ? reason : 'NotReady';
}

/** True for a resource that waits for the service or for a permission, which the account counts. */
export function isWait(standing: Standing | undefined): boolean {
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
