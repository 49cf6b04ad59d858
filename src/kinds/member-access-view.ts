/** What a MemberAccess wants, what the service shows of it, and what status says of the two. */
import type { Pass } from '../engine/kind/pass.ts';
import type { OwnCondition, Showing } from '../engine/kind/step.ts';
import type { Read } from '../engine/ports.ts';
import { memberAccessOf, type MemberAccessItem } from '../hosting/requests.ts';
import type { Facts, Spec } from './schema/member-access.ts';

export type AccessPass = Pass<Spec, Facts>;

/** The read of this membership. */
export function readAccess({ account, spec }: AccessPass): Read<MemberAccessItem> {
  return memberAccessOf(account.accountId, spec.membershipId);
}

/** The ids that the spec names, and the references among them that do not resolve. */
export function wantedOf({ spec, referred }: AccessPass): {
  readonly ids: readonly string[];
  readonly unresolved: readonly string[];
} {
  const ids = new Set<string>();
  const unresolved: string[] = [];
  for (const { appEnvId, environmentRef } of spec.environments ?? []) {
    const id = appEnvId ?? (environmentRef && referred('AppEnvironment', environmentRef.name)?.id);
    if (id !== undefined) ids.add(id);
    else unresolved.push(environmentRef?.name ?? '');
  }
  return { ids: [...ids].toSorted(), unresolved };
}

/** The list as the service shows it, our own newer write included; undefined before it was read. */
export function allowedOf(pass: AccessPass): readonly string[] | undefined {
  const seen = pass.view.one(readAccess(pass), pass.spec.membershipId);
  if (seen?.item === undefined) return undefined;
  const own: unknown = pass.wrote?.fields['allowedAppEnvIds'];
  const isOlder = pass.wrote !== undefined && seen.walk.begunAt < pass.wrote.at;
  return isOlder && Array.isArray(own) ? own.map(String) : seen.item.allowedAppEnvIds;
}

/** Whether the spec was changed since it was last applied: only then may a list lose what an earlier spec put there. */
export function isEdited({ memory, subject }: AccessPass): boolean {
  return memory.applied?.generation !== subject.generation;
}

/** What the member shall reach: what the spec names, and what the service added by itself if that is to be kept. */
export function targetOf(pass: AccessPass, ids: readonly string[], allowed: readonly string[]): readonly string[] {
  const set = pass.memory.facts.setAppEnvIds ?? [];
  const stays = (id: string) =>
    ids.includes(id) || (set.includes(id) ? !isEdited(pass) : pass.spec.serviceAdds !== 'Remove');
  return [...new Set([...ids, ...allowed.filter(stays)])].toSorted();
}

/** Whether two lists have the same ids. */
export function sameIds(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((id) => b.includes(id));
}

/** What status shows. */
export function show(pass: AccessPass): Showing<Facts> {
  const { memory, spec } = pass;
  const allowed = memory.id === spec.membershipId ? allowedOf(pass) : undefined;
  if (allowed === undefined) {
    const unseen = memory.id === spec.membershipId && pass.view.one(readAccess(pass), spec.membershipId) === undefined;
    return { unseen, facts: memory.facts, conditions: [], drift: [], unverified: [], leftover: [] };
  }
  const { ids } = wantedOf(pass);
  const isRestricted = spec.access === 'Restricted';
  const target = isRestricted ? targetOf(pass, ids, allowed) : [];
  const isWider = isRestricted && allowed.length === 0;
  const differs = !isEdited(pass) && !sameIds(target, allowed);
  const inWords = (list: readonly string[]) => (list.length === 0 ? '(every environment)' : list.join(', '));
  return {
    facts: {
      ...memory.facts,
      access: allowed.length === 0 ? 'Full' : 'Restricted',
      appEnvIds: allowed.length === 0 ? undefined : [...allowed].toSorted(),
      serviceAddedAppEnvIds: addedBy(allowed, ids, memory.facts.setAppEnvIds ?? []),
    },
    conditions: [widerCondition(isWider), ...(isRestricted ? [enforced] : [])],
    drift: differs ? [{ field: 'environments', desired: inWords(target), observed: inWords(allowed) }] : [],
    unverified: [],
    leftover: [],
  };
}

function addedBy(allowed: readonly string[], ids: readonly string[], set: readonly string[]): string[] | undefined {
  const added = allowed.filter((id) => !ids.includes(id) && !set.includes(id)).toSorted();
  return added.length === 0 ? undefined : added;
}

function widerCondition(isWider: boolean): OwnCondition {
  const type = 'AccessWiderThanSpec';
  if (!isWider) {
    const message = 'no full access where the spec restricts it; status.serviceAddedAppEnvIds lists what others added';
    return { type, status: 'False', reason: 'AsSpecified', message };
  }
  return {
    type,
    status: 'True',
    reason: 'AccessWiderThanSpec',
    message: 'the member has full access though the spec restricts it',
  };
}

/** The switch of the account is not part of the interface. */
const enforced: OwnCondition = {
  type: 'Enforced',
  status: 'Unknown',
  reason: 'FeatureNotShown',
  message:
    'the interface does not show whether the account enforces member access; while it does not, every member has full access',
};
