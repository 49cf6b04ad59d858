/** Relations between resources: who owns an id, who refers to whom, and who uses an account. */
import { isRecord } from '../../base/json.ts';
import type { Accounts } from '../account/accounts.ts';
import { storedInWords, goesFirst, tie, type ObjectIndex, type Stored } from '../objects/object-index.ts';
import { adoptionWithin } from '../kind/planner/create.ts';
import type { Adoption, Pass, Related } from '../kind/contract/pass.ts';
import { finalizer } from '../objects/names.ts';
import type { Service } from '../ports.ts';

/** The first other object that claims an id: of the same kind, in the same account of the service. */
export function claimantOf(
  stored: Stored,
  objects: ObjectIndex,
  accounts: Accounts,
  id: string,
): ReturnType<Pass<unknown, unknown>['claimant']> {
  const mine = accounts.session(stored.account)?.service;
  const others = objects
    .tiedBy(tie.claim(stored.kind.kind, id))
    .flatMap((key) => (key === stored.key ? [] : [objects.get(key)]))
    .filter((other) => other !== undefined)
    .filter((other) => sameAccount(other, mine, accounts) && mayClaim(other, accounts, id));
  const [first] = others.toSorted((a, b) => (goesFirst(a.object, b.object) ? -1 : 1));
  if (first === undefined) return undefined;
  return { name: storedInWords(first), goesFirst: goesFirst(first.object, stored.object) };
}

/** Resources of another kind in the same account of the service that claim an id. */
export function relatedTo(
  stored: Stored,
  objects: ObjectIndex,
  accounts: Accounts,
  wanted: { readonly kind: string; readonly id: string },
): readonly Related[] {
  const mine = accounts.session(stored.account)?.service;
  return objects
    .tiedBy(tie.claim(wanted.kind, wanted.id))
    .flatMap((key) => (key === stored.key ? [] : (objects.get(key) ?? [])))
    .filter((other) => sameAccount(other, mine, accounts))
    .map((other) => relation(other));
}

/** Resources of a kind that use the same account of the service, through whatever account resource. */
export function inAccount(stored: Stored, objects: ObjectIndex, accounts: Accounts, kind: string): readonly Related[] {
  const mine = accounts.session(stored.account)?.service;
  const others = [...accounts.sessions()].filter(([, { service }]) => mine !== undefined && samePlace(service, mine));
  const keys = new Set([stored.account, ...others.map(([key]) => key)]);
  const users = [...keys].flatMap((key) => objects.tiedBy(tie.account(key))).flatMap((key) => objects.get(key) ?? []);
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

/** Naming an id counts as a claim only where adoption is allowed. */
function mayClaim(other: Stored, accounts: Accounts, id: string): boolean {
  if (other.status.memory.id === id) return true;
  const session = accounts.session(other.account);
  return session !== undefined && adoptionWithin(accounts.view(session), wishOf(other.spec)) !== 'Never';
}

function wishOf(spec: Stored['spec']): Adoption | undefined {
  const { lifecycle } = spec.is === 'valid' && isRecord(spec.value) ? spec.value : {};
  const wish = isRecord(lifecycle) ? lifecycle['adoption'] : undefined;
  return wish === 'Never' || wish === 'ById' || wish === 'ByName' ? wish : undefined;
}

function sameAccount(other: Stored, mine: Service | undefined, accounts: Accounts): boolean {
  const where = other.status.memory.binding ?? accounts.session(other.account)?.service;
  return where !== undefined && mine !== undefined && samePlace(where, mine);
}

type Place = Pick<Service, 'endpoint' | 'accountId'>;

function samePlace(one: Place, other: Place): boolean {
  return one.endpoint === other.endpoint && one.accountId === other.accountId;
}

/** The keys of all resources whose spec refers to this object. */
export function usersOf({ objects }: { readonly objects: ObjectIndex }, { object }: Stored): readonly string[] {
  return objects.tiedBy(tie.object(object.kind, object.metadata.namespace, object.metadata.name)).toSorted();
}

/** Resources of a kind whose spec refers to this object. */
export function referrersOf(
  { objects }: { readonly objects: ObjectIndex },
  stored: Stored,
  kind: string,
): ReturnType<Pass<unknown, unknown>['referrers']> {
  return usersOf({ objects }, stored).flatMap((key) => {
    const other = objects.get(key);
    if (other === undefined || other.kind.kind !== kind || other.spec.is !== 'valid') return [];
    return [{ name: other.object.metadata.name, spec: other.spec.value }];
  });
}

/**
 * The resources that use this account, the first few in words. One that it does not allow does not keep it from being
 * deleted.
 */
export function dependentsOf(
  { objects, accounts }: { readonly objects: ObjectIndex; readonly accounts: Pick<Accounts, 'allows'> },
  stored: Stored,
): { count: number; first: readonly string[] } {
  const named = objects.tiedBy(tie.account(stored.key)).flatMap((key) => objects.get(key) ?? []);
  const users = named.filter(
    ({ object: { metadata } }) =>
      metadata.finalizers?.includes(finalizer) === true || accounts.allows(stored, metadata.namespace ?? ''),
  );
  return { count: users.length, first: users.slice(0, 3).map((user) => storedInWords(user)) };
}
