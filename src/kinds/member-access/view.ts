/**
 * Computes lists of environments for a member: the environments in the spec, those that were requested before, those in
 * the service, and those that status shows.
 */
import { unlessEmpty } from '../../base/json.ts';
import type { Pass } from '../../engine/kind/contract/pass.ts';
import { type Notice, type OwnCondition, type Showing, type Step, about } from '../../engine/kind/contract/step.ts';
import type { Read } from '../../engine/ports.ts';
import { memberAccessOf, type MemberAccessItem } from '../../hosting/requests.ts';
import { idOf } from '../shared/references.ts';
import type { MemberAccessFacts, MemberAccessSpec } from './schema.ts';

export type AccessPass = Pass<MemberAccessSpec, MemberAccessFacts>;
export type AccessStep = Step<MemberAccessFacts>;

/** Returns the read request for the environments that the member may reach. */
export function readAccess({ account, spec }: AccessPass): Read<MemberAccessItem> {
  return memberAccessOf(account.accountId, spec.externalId);
}

/** Returns the ids of the environments in the spec, and the references in the spec that do not resolve. */
export function wantedOf(pass: AccessPass) {
  const refs = (pass.spec.environmentRefs ?? []).map((ref) => ({ ...ref, id: idOf('AppEnvironment', ref, pass) }));
  return {
    ids: union(refs.flatMap(({ id }) => id ?? [])),
    unresolved: refs.flatMap(({ id, name = '' }) => (id === undefined ? [name] : [])),
  };
}

/**
 * Returns the member's list of environments as the service shows it; undefined before the first read. If the operator
 * has written the list since the read, returns the written list instead.
 */
export function allowedOf(pass: AccessPass): readonly string[] | undefined {
  const seen = pass.view.one(readAccess(pass), pass.spec.externalId);
  if (seen?.item === undefined) return undefined;
  const own: unknown = pass.wrote?.fields['allowedAppEnvIds'];
  const isOlder = pass.wrote !== undefined && seen.snapshot.begunAt < pass.wrote.at;
  return isOlder && Array.isArray(own) ? own.map(String) : seen.item.allowedAppEnvIds;
}

/**
 * True if the spec changed since it was last applied. Without such a change, a reference that resolves to another
 * environment must not widen the member's access.
 */
export function isEdited({ memory, subject }: AccessPass): boolean {
  return memory.applied?.generation !== subject.generation;
}

/**
 * Returns two lists of environment ids from status. `set` has the ids of the spec that was applied last. `asked` has
 * all other ids that were requested for the member before, by this MemberAccess or by an earlier one.
 */
export function remembered({ setAppEnvIds: set = [], askedAppEnvIds: asked = [] }: MemberAccessFacts) {
  return { set, asked };
}

/**
 * Returns the status fields to write once the member's list of environments in the service contains every environment
 * of the spec.
 */
export function factsWith(pass: AccessPass, ids: readonly string[]): MemberAccessFacts {
  const { set, asked } = remembered(pass.memory.facts);
  const kept = isEdited(pass) ? ids : union(set, ids);
  const others = union(asked, set).filter((id) => !kept.includes(id));
  return { ...pass.memory.facts, setAppEnvIds: unlessEmpty(kept), askedAppEnvIds: unlessEmpty(others) };
}

/**
 * Takes over the ids that an older MemberAccess of this namespace requested for the same member, because this resource
 * may replace the older one later. Returns undefined if there are no new ids.
 */
export function inherited(pass: AccessPass, owner: string | undefined): MemberAccessFacts | undefined {
  const { facts } = pass.memory;
  const before = pass
    .related?.('MemberAccess', pass.spec.externalId)
    .find(({ name, namespace }) => name === owner && namespace === pass.subject.namespace);
  const { set, asked } = remembered(before?.facts ?? {});
  const known = remembered(facts).asked;
  const all = union(known, set, asked);
  return sameIds(all, known) ? undefined : { ...facts, askedAppEnvIds: all };
}

/**
 * Returns the list of environments to which a member of the account gets access: those of the spec and, unless
 * onServiceAdd is Remove, those that somebody else added in the service.
 */
export function targetOf(pass: AccessPass, ids: readonly string[], allowed: readonly string[]): readonly string[] {
  const { set, asked } = remembered(pass.memory.facts);
  const stays = (id: string) =>
    ids.includes(id) ||
    (set.includes(id) ? !isEdited(pass) : !asked.includes(id) && pass.spec.onServiceAdd !== 'Remove');
  return union(ids, allowed.filter(stays));
}

/** Merges lists into a sorted list that has each id once. */
export function union(...lists: readonly (readonly string[])[]): string[] {
  return [...new Set(lists.flat())].toSorted();
}

/** True if two lists have the same ids. */
export function sameIds(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((id) => b.includes(id));
}

/** Builds the status of a MemberAccess. */
export function show(pass: AccessPass): Showing<MemberAccessFacts> {
  const { memory, spec } = pass;
  const allowed = memory.id === spec.externalId ? allowedOf(pass) : undefined;
  if (allowed === undefined) {
    const unseen = memory.id === spec.externalId && pass.view.one(readAccess(pass), spec.externalId) === undefined;
    return { unseen, facts: memory.facts, conditions: [] };
  }
  const { ids } = wantedOf(pass);
  const isRestricted = spec.access === 'Restricted';
  const target = isRestricted ? targetOf(pass, ids, allowed) : [];
  const isWider = isRestricted && allowed.length === 0;
  const differs = !isEdited(pass) && !sameIds(target, allowed);
  const inWords = (list: readonly string[]) => (list.length === 0 ? '(every environment)' : list.join(', '));
  const added = addedByOthers(pass, allowed, ids);
  const kept = isRestricted && spec.onServiceAdd !== 'Remove' ? added : [];
  return {
    facts: {
      ...memory.facts,
      access: allowed.length === 0 ? 'Full' : 'Restricted',
      environmentIds: unlessEmpty(allowed.toSorted()),
      serviceAddedEnvironmentIds: unlessEmpty(added),
    },
    conditions: [widerCondition(isRestricted, isWider), ...(isRestricted ? [addedCondition(kept), enforced] : [])],
    drift: differs ? [{ field: 'environments', desired: inWords(target), observed: inWords(allowed) }] : [],
    notices: noticesOf(pass, kept),
  };
}

function addedByOthers(pass: AccessPass, allowed: readonly string[], ids: readonly string[]): readonly string[] {
  const { set, asked } = remembered(pass.memory.facts);
  const ours = union(ids, set, asked);
  return allowed.filter((id) => !ours.includes(id)).toSorted();
}

/** Warns once about each environment that stays in the list although the spec does not name it. */
function noticesOf({ memory, spec }: AccessPass, kept: readonly string[]): readonly Notice[] {
  const told = memory.facts.serviceAddedEnvironmentIds ?? [];
  const news = kept.filter((id) => !told.includes(id));
  if (news.length === 0) return [];
  const note = `member ${spec.externalId} may also use ${news.join(', ')}, although the spec does not name these environments; the operator leaves this access in place, because onServiceAdd is Keep`;
  return [{ type: 'Warning', reason: 'AddedByOthers', note }];
}

function widerCondition(isRestricted: boolean, isWider: boolean): OwnCondition {
  const wider = about('AccessWiderThanSpec');
  return isWider
    ? wider.yes('AccessWiderThanSpec', 'the member has full access although the spec restricts the access')
    : wider.no(
        'AsSpecified',
        isRestricted
          ? 'the member does not have full access; see Ready, status.drift and AddedByOthers for differences from spec.environmentRefs'
          : 'the spec gives the member full access',
      );
}

function addedCondition(kept: readonly string[]): OwnCondition {
  const added = about('AddedByOthers');
  if (kept.length === 0)
    return added.no('NothingAdded', "nobody else added environments to the member's list, or onServiceAdd is Remove");
  const message = `the member may also use ${kept.join(', ')}, which the spec does not name: with onServiceAdd: Keep, the operator removes only environments that were in the spec before. To remove one of these, add it to spec.environmentRefs and then take it out; to remove all, set onServiceAdd: Remove`;
  return added.yes('AddedByOthers', message);
}

/**
 * The condition `Enforced`. It is always Unknown, because the service's API does not show whether the account enforces
 * restrictions.
 */
const enforced = about('Enforced').unknown(
  'FeatureNotShown',
  "the service's API does not show whether the account enforces member access; an account that does not enforce it gives every member full access",
);
