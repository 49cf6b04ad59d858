/**
 * Finds the environments of a member: those that the spec wants, those asked for before, those that the service shows, and
 * those for status.
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

/** Returns the read of the environments that this member may reach. */
export function readAccess({ account, spec }: AccessPass): Read<MemberAccessItem> {
  return memberAccessOf(account.accountId, spec.externalId);
}

/** Returns the ids that the spec names, and the references in the spec that do not resolve. */
export function wantedOf(pass: AccessPass) {
  const refs = (pass.spec.environmentRefs ?? []).map((ref) => ({ ...ref, id: idOf('AppEnvironment', ref, pass) }));
  return {
    ids: union(refs.flatMap(({ id }) => id ?? [])),
    unresolved: refs.flatMap(({ id, name = '' }) => (id === undefined ? [name] : [])),
  };
}

/** Returns the list that the service shows; undefined before the first read. A newer write of ours replaces what an older read shows. */
export function allowedOf(pass: AccessPass): readonly string[] | undefined {
  const seen = pass.view.one(readAccess(pass), pass.spec.externalId);
  if (seen?.item === undefined) return undefined;
  const own: unknown = pass.wrote?.fields['allowedAppEnvIds'];
  const isOlder = pass.wrote !== undefined && seen.snapshot.begunAt < pass.wrote.at;
  return isOlder && Array.isArray(own) ? own.map(String) : seen.item.allowedAppEnvIds;
}

/** True if the spec changed since it was last applied. Only then are environments added or removed because of the spec. */
export function isEdited({ memory, subject }: AccessPass): boolean {
  return memory.applied?.generation !== subject.generation;
}

/** Returns the ids that the last applied spec set (`set`), and other ids that this or an earlier resource asked for (`asked`). */
export function remembered({ setAppEnvIds: set = [], askedAppEnvIds: asked = [] }: MemberAccessFacts) {
  return { set, asked };
}

/** Returns the status fields once the list in the service has everything that the spec names. */
export function factsWith(pass: AccessPass, ids: readonly string[]): MemberAccessFacts {
  const { set, asked } = remembered(pass.memory.facts);
  const kept = isEdited(pass) ? ids : union(set, ids);
  const others = union(asked, set).filter((id) => !kept.includes(id));
  return { ...pass.memory.facts, setAppEnvIds: unlessEmpty(kept), askedAppEnvIds: unlessEmpty(others) };
}

/** Takes over the ids that another resource of this namespace asked for in the same membership, in case this resource replaces that one. */
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

/** Returns the list to send: the environments of the spec, and environments that others added if the spec keeps them. */
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

/** Builds the status of the member's access. */
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
    conditions: [widerCondition(isWider), ...(isRestricted ? [addedCondition(kept), enforced] : [])],
    drift: differs ? [{ field: 'environments', desired: inWords(target), observed: inWords(allowed) }] : [],
    notices: noticesOf(pass, kept),
  };
}

function addedByOthers(pass: AccessPass, allowed: readonly string[], ids: readonly string[]): readonly string[] {
  const { set, asked } = remembered(pass.memory.facts);
  const ours = union(ids, set, asked);
  return allowed.filter((id) => !ours.includes(id)).toSorted();
}

/** Warns of environments that stay in the list although the spec does not name them; warns of each environment once. */
function noticesOf({ memory, spec }: AccessPass, kept: readonly string[]): readonly Notice[] {
  const told = memory.facts.serviceAddedEnvironmentIds ?? [];
  const news = kept.filter((id) => !told.includes(id));
  if (news.length === 0) return [];
  const note = `${spec.externalId} may also reach ${news.join(', ')}: the spec does not name them, and this resource is not known to have set them; they are kept, since onServiceAdd is Keep`;
  return [{ type: 'Warning', reason: 'AddedByOthers', note }];
}

function widerCondition(isWider: boolean): OwnCondition {
  const wider = about('AccessWiderThanSpec');
  return isWider
    ? wider.yes('AccessWiderThanSpec', 'the member has full access though the spec restricts it')
    : wider.no(
        'AsSpecified',
        'the member does not have full access, or the spec allows it; status.serviceAddedEnvironmentIds lists the environments that others added',
      );
}

function addedCondition(kept: readonly string[]): OwnCondition {
  const added = about('AddedByOthers');
  if (kept.length === 0) return added.no('NothingAdded', 'no environments are kept that the spec does not name');
  const message = `${kept.join(', ')}: allowed by others, by the service itself, or by a resource that is gone; kept, since onServiceAdd is Keep. To take it away, set onServiceAdd: Remove, or add it to the spec and remove it again`;
  return added.yes('AddedByOthers', message);
}

/** The interface does not show whether the account enforces restrictions. */
const enforced = about('Enforced').unknown(
  'FeatureNotShown',
  'the interface does not show whether the account enforces member access; while it does not, every member has full access',
);
