/**
 * What an account is used for: how many resources it has, and what in the service carries our mark without a resource.
 *
 * Nothing is read for it: only lists that some resource looks at are searched. A mark is taken for ours only when our key made
 * it, and an object for an orphan only when a walk that began a horizon after the first sight still shows it without a
 * resource: a list may lag behind a deletion, and a resource may be about to learn its id.
 */
import type { Session } from './accounts.ts';
import { storedInWords, tie, type ObjectIndex, type Stored } from '../objects/object-index.ts';
import type { OperatorKey } from '../objects/fingerprint.ts';
import type { Subscriptions } from '../objects/subscriptions.ts';
import type { AnyKind } from '../kind/contract/define.ts';
import type { Orphan, Tally, Use } from '../kind/contract/pass.ts';
import { markOf, type InProcessStates } from '../objects/in-process.ts';

/** What counting needs. */
export interface UsageSources {
  readonly objects: ObjectIndex;
  readonly subscriptions: Subscriptions;
  readonly kinds: readonly AnyKind[];
  readonly inProcessStates: InProcessStates;
  readonly key: OperatorKey;
  readonly settings: { readonly horizonMs: number; readonly seesAll: boolean };
}

/** What an account is used for. With a selector nothing is called an orphan: its resource may have gone to another operator. */
export function usageOf(around: UsageSources, account: Stored, session: Session | undefined): Tally {
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
  const waits = (key: string): boolean =>
    objects.get(key)?.status.conditions.some(({ type, reason }) => type === 'Ready' && reason === 'Throttled') === true;
  return objects.tiedBy(tie.account(account.key)).filter((key) => key !== account.key && waits(key)).length;
}

const mostNamed = 3;

/** The resources that wait for a permission of the account's token, the first few in words. */
function forbiddenIn(objects: ObjectIndex, account: Stored): Tally['forbidden'] {
  const waiting = objects.tiedBy(tie.account(account.key)).flatMap((key) => {
    const stored = objects.get(key);
    const isForbidden = stored?.status.conditions.some(
      ({ type, reason }) => type === 'Ready' && reason === 'Forbidden',
    );
    return stored !== undefined && isForbidden === true ? [storedInWords(stored)] : [];
  });
  return { count: waiting.length, first: waiting.toSorted().slice(0, mostNamed) };
}

/** Whether a resource is Ready, as its status says. */
export function isReady({ status }: Stored): boolean {
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
    const walk = read.key.startsWith(`${marks.collection}/`) ? session.service.snapshot(read) : undefined;
    for (const [id, item] of walk?.items ?? []) {
      const { mark, name } = marks.read(item);
      if (walk === undefined || mark === undefined || !key.isOwn(mark)) continue;
      const isKnown = objects.tiedBy(tie.claim(kind.kind, id)).length > 0;
      const isAwaited = holders.has(mark) && holders.get(mark) === undefined;
      if (isKnown || isAwaited) continue;
      const since = session.suspects.get(id) ?? walk.begunAt;
      suspects.set(id, since);
      if (walk.begunAt - since >= settings.horizonMs) found.push({ type: marks.noun, externalId: id, name });
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
