/**
 * Restricts which environments a member may reach.
 *
 * To the service an empty list means every environment. Guarantees: the empty list is sent only for `access: Full` and for
 * `onDelete: GrantFullAccess`. Until the spec is edited, no environment is added to the list, and no environment that the spec
 * put there is removed. While a reference does not resolve nothing is sent, except to restore a restriction that the service
 * shows as lifted.
 *
 * Why: docs/design/member-access.md
 */
import { sameJson } from '../../base/json.ts';
import { bind, notGranted } from '../../engine/kind/planner/create.ts';
import { claimedByOlder } from '../../engine/kind/planner/planner.ts';
import { annotations, defineKind } from '../../engine/kind/contract/define.ts';
import { readOf } from '../../engine/kind/planner/observe.ts';
import { type Call, type Refusal, type Verdict, isNo } from '../../engine/kind/contract/step.ts';
import type { Request } from '../../engine/ports.ts';
import { appEnvsOf, patchMemberEnvAccess, patchMemberEnvAccessToFull } from '../../hosting/requests.ts';
import {
  allowedOf,
  factsWith,
  inherited,
  isEdited,
  readAccess,
  remembered,
  sameIds,
  show,
  targetOf,
  union,
  wantedOf,
  type AccessPass,
  type AccessStep,
} from './view.ts';
import { leaveDrift } from '../shared/drift.ts';
import { needOf } from '../shared/references.ts';
import { MemberAccessFacts, MemberAccessSpec } from './schema.ts';

function step(pass: AccessPass): AccessStep {
  const { subject, spec, memory, account } = pass;
  if (subject.deleting) return leave(pass);
  const { externalId: membershipId } = spec;
  const claimed = claimedByOlder(pass, membershipId, `the access of ${membershipId}`, 'membership');
  if (claimed !== undefined) {
    const facts = inherited(pass, pass.claimant(membershipId)?.name);
    return { ...claimed, ...(facts && { remember: { facts } }) };
  }
  const notOurs = notGranted(`spec.externalId names ${membershipId}`, account);
  if (notOurs !== undefined) return notOurs;
  const seen = pass.view.one(readAccess(pass), membershipId);
  if (seen === undefined) return readOf(pass, readAccess(pass));
  const allowed = allowedOf(pass);
  if (allowed === undefined) {
    const message = `the account has no membership ${membershipId}; nothing is sent`;
    return { is: 'stall', reason: 'NotFound', message };
  }
  if (memory.id !== membershipId) return bind(pass, membershipId, 'Adopted');
  return spec.access === 'Full' ? grant(pass, allowed) : restrict(pass, allowed);
}

/** Gives full access, because spec.access is Full. In no other case is the empty list sent while the resource exists. */
function grant(pass: AccessPass, allowed: readonly string[]): AccessStep {
  if (allowed.length === 0) return settled(pass, []);
  return holdsBack(pass) ?? { is: 'call', call: openUp(pass, `give ${pass.spec.externalId} every environment`) };
}

function restrict(pass: AccessPass, allowed: readonly string[]): AccessStep {
  const { ids, unresolved } = wantedOf(pass);
  const { set } = remembered(pass.memory.facts);
  const list = appEnvsOf(pass.account.accountId);
  if (ids.some((id) => pass.view.one(list, id) === undefined)) return readOf(pass, list);
  if (allowed.length === 0 && set.length > 0) return close(pass);
  if (unresolved.length > 0) {
    const message = `spec.environmentRefs refers to ${named(unresolved)}, which does not exist or has no id yet; nothing is sent, so that nothing is widened`;
    return { is: 'wait', reason: 'ReferenceNotReady', message };
  }
  const others = isEdited(pass) ? [] : ids.filter((id) => !set.includes(id) && !allowed.includes(id));
  if (others.length > 0) return changed(pass, others);
  const target = targetOf(pass, ids, allowed);
  const isAsWanted = sameIds(target, allowed);
  const unseen = unseenIn(pass, ids).filter((id) => !isAsWanted || !allowed.includes(id));
  if (unseen.length > 0) {
    const message = `there is no environment ${unseen.join(', ')}; nothing is sent until it shows or the spec changes`;
    return { is: 'wait', reason: 'EnvironmentNotFound', message };
  }
  if (isAsWanted) return settled(pass, ids);
  return withoutGone(pass, target) ?? restrictTo(pass, target, { ids, isWhole: true });
}

/**
 * Stalls when a reference resolves to another environment than when the spec was applied, because an edit of another resource
 * must not widen this access.
 */
function changed({ spec, referred }: AccessPass, ids: readonly string[]): AccessStep {
  const names = (spec.environmentRefs ?? []).flatMap(({ name }) => name ?? []);
  const moved = names.filter((name) => ids.includes(referred('AppEnvironment', name)?.id ?? ''));
  const message = `${named(moved)} means ${ids.join(', ')} now, and meant another environment when this spec was applied; nothing is sent until the spec is edited, for instance to name it by externalId`;
  return { is: 'stall', reason: 'EnvironmentChanged', message };
}

/** Leaves out ids that the service refused and the spec does not name, once they are proved gone. */
function withoutGone(pass: AccessPass, target: readonly string[]): AccessStep | undefined {
  const { notes, account, view, spec } = pass;
  const { refusedAt } = notes;
  if (refusedAt === undefined || account.frozen !== undefined) return undefined;
  const list = appEnvsOf(account.accountId);
  const since = refusedAt + account.pollMs;
  const seen = view.one(list, spec.externalId);
  if (seen === undefined || seen.snapshot.begunAt < since) return { ...readOf(pass, list, since), note: notes };
  const gone = unseenIn(pass, target);
  const rest = target.filter((id) => !gone.includes(id));
  return restrictTo(pass, rest, { ids: wantedOf(pass).ids, isWhole: true });
}

/**
 * Restores the restriction when the service shows full access although the spec restricts the member. Uses only the references
 * that resolve.
 */
function close(pass: AccessPass): AccessStep {
  const { externalId: membershipId } = pass.spec;
  const { ids, unresolved } = wantedOf(pass);
  const { set } = remembered(pass.memory.facts);
  const gone = unseenIn(pass, ids);
  const there = ids.filter((id) => !gone.includes(id));
  const known = there.filter((id) => set.includes(id));
  // Accept a reference that now resolves to another environment: one environment too many is still less than full access.
  const target = isEdited(pass) || known.length === 0 ? there : known;
  if (target.length === 0) {
    const message = `${membershipId} has full access though the spec restricts it, and none of spec.environmentRefs exists any more: an empty list would mean full access, so nothing can be sent; name an environment that exists`;
    return { is: 'stall', reason: 'AccessWiderThanSpec', message };
  }
  const isWhole = unresolved.length === 0 && target.length === ids.length;
  const step = restrictTo(pass, target, { ids: target, isWhole });
  if (step.is !== 'call') return step;
  const note = `${membershipId} had full access though the spec restricts it; restricting it to ${target.join(', ')} again`;
  return { ...step, call: { ...step.call, warns: { reason: 'AccessWiderThanSpec', note } } };
}

function settled(pass: AccessPass, ids: readonly string[]): AccessStep {
  const { memory, subject } = pass;
  const facts = factsWith(pass, ids);
  if (!isEdited(pass) && sameJson(facts, memory.facts)) return { is: 'ready', note: {} };
  return { is: 'again', remember: { applied: { generation: subject.generation, prints: {} }, facts } };
}

/** Leaves the restriction in the service when the resource is deleted, unless the spec asks to give full access then. */
function leave(pass: AccessPass): AccessStep {
  const { spec, memory, subject, notes } = pass;
  const { externalId: membershipId } = spec;
  const grants =
    spec.lifecycle?.onDelete === 'GrantFullAccess' && subject.annotations[annotations.onDelete] !== 'Retain';
  const isUnknown = memory.id !== membershipId || memory.applied === undefined;
  if (isUnknown && !grants) return { is: 'release' };
  const ids = memory.facts.environmentIds ?? [];
  const reach = ids.length === 0 ? '' : ` (${ids.slice(0, 20).join(', ')})`;
  const stays = `the access of ${membershipId} stays as it is in the service${reach}`;
  if (isUnknown) {
    // Status does not distinguish a refusal from a lost answer, and neither proves that this resource made the restriction.
    return { is: 'release', stays: `${stays}: this resource is not known to have restricted it` };
  }
  if (!grants || isObserved(pass)) return { is: 'release', stays };
  const other = pass.claimant(membershipId);
  if (other !== undefined) return { is: 'release', stays: `${stays}: ${other.name} manages the same member` };
  const since = Math.max(pass.askedAt, notes['grantedAt'] ?? Number.NEGATIVE_INFINITY);
  const seen = pass.view.one(readAccess(pass), membershipId);
  if (seen === undefined || seen.snapshot.begunAt < since) return readOf(pass, readAccess(pass), since);
  if (seen.item === undefined || seen.item.allowedAppEnvIds.length === 0) return { is: 'release' };
  if (notes['grantedAt'] !== undefined && pass.monotonicMs - notes['grantedAt'] < pass.horizonMs) {
    const message = `${membershipId} was given every environment; waiting until the service shows it`;
    return { is: 'wait', reason: 'Deleting', message, retryInMs: 2_000 };
  }
  const words = `give ${membershipId} every environment, as lifecycle.onDelete: GrantFullAccess asks`;
  const call = openUp(pass, words);
  return { is: 'call', call: { ...call, note: (at) => ({ grantedAt: at }), committed: () => ({}) } };
}

// ---- the call --------------------------------------------------------------------------------------------------
//
// Sends the list of environments: when to wait, what status records before the call, and what the answer means.

/**
 * Restricts the member to a list of environments. `ids` are those in the list that the spec names, and `isWhole` is false when the
 * spec names others, too.
 */
function restrictTo(
  pass: AccessPass,
  target: readonly string[],
  { ids, isWhole }: { readonly ids: readonly string[]; readonly isWhole: boolean },
): AccessStep {
  const { spec, memory, subject } = pass;
  const [first, ...others] = target;
  if (first === undefined) {
    const message = 'spec.environmentRefs names none: an empty list would mean full access, so nothing is sent';
    return { is: 'stall', reason: 'InvalidSpec', message };
  }
  const held = holdsBack(pass) ?? stale(pass);
  if (held !== undefined) return held;
  const request = patchMemberEnvAccess({ ...membershipOf(pass), allowedAppEnvIds: [first, ...others] });
  const { set, asked } = remembered(pass.memory.facts);
  const call: Call<MemberAccessFacts> = {
    ...callOf(pass, request, target),
    words: `restrict ${spec.externalId} to ${target.join(', ')}`,
    // Record the ids before the call: after a lost answer they must still count as asked for by us.
    ...(ids.some((id) => !set.includes(id) && !asked.includes(id)) && {
      meanwhile: { facts: { ...memory.facts, askedAppEnvIds: union(asked, ids) } },
    }),
    committed: () => ({
      ...(isWhole && { applied: { generation: subject.generation, prints: {} } }),
      facts: isWhole ? factsWith(pass, ids) : { ...memory.facts, setAppEnvIds: union(set, ids) },
    }),
  };
  return { is: 'call', call };
}

/** True if managementPolicy of the resource or of its account is Observe. */
function isObserved({ spec, account }: AccessPass): boolean {
  return spec.lifecycle?.managementPolicy === 'Observe' || account.managementPolicy === 'Observe';
}

/** Gives the member every environment: the only place where the empty list is sent. */
function openUp(pass: AccessPass, words: string): Call<MemberAccessFacts> {
  return { ...callOf(pass, patchMemberEnvAccessToFull(membershipOf(pass)), []), words };
}

/** Leaves drift uncorrected if the spec asks only to report drift, or if somebody else keeps changing the list. */
function holdsBack(pass: AccessPass): AccessStep | undefined {
  return isEdited(pass) ? undefined : leaveDrift(pass, 'environments', `what ${pass.spec.externalId} may reach`);
}

/** Reads the list right before writing it, because the service adds to the list by itself. */
function stale(pass: AccessPass): AccessStep | undefined {
  const read = readAccess(pass);
  const begunAt = pass.view.one(read, pass.spec.externalId)?.snapshot.begunAt ?? Number.NEGATIVE_INFINITY;
  return begunAt < pass.askedAt ? { ...readOf(pass, read, pass.askedAt), note: pass.notes } : undefined;
}

function membershipOf({ account, spec }: AccessPass): { readonly accountId: string; readonly membershipId: string } {
  return { accountId: account.accountId, membershipId: spec.externalId };
}

function callOf(pass: AccessPass, request: Request, target: readonly string[]): Omit<Call<MemberAccessFacts>, 'words'> {
  const { subject } = pass;
  return {
    request,
    urgency: isEdited(pass) ? 'edit' : 'drift',
    corrects: isEdited(pass) ? [] : ['environments'],
    wrote: () => ({ allowedAppEnvIds: [...target] }),
    refused: (refusal) => saidNo(pass, refusal, target),
    committed: () => ({ applied: { generation: subject.generation, prints: {} }, facts: factsWith(pass, []) }),
  };
}

/** Decides what follows when the list was refused or the answer was lost. */
function saidNo(pass: AccessPass, refusal: Refusal, target: readonly string[]): Verdict<MemberAccessFacts> | undefined {
  const { is, message } = refusal;
  const words = `changing what ${pass.spec.externalId} may reach: ${message}`;
  if (is === 'inDoubt') {
    const again = `${words}; its effect is read before it is sent again`;
    return { is: 'wait', reason: 'InDoubt', message: again, retryInMs: 2_000 };
  }
  const isRefused = isNo(refusal) || is === 'notFound';
  const unknown = isRefused && pass.notes['refusedAt'] === undefined ? unseenIn(pass, target) : [];
  if (unknown.length === 0) return undefined;
  const { account, monotonicMs: refusedAt } = pass;
  const maybe = `${words}; ${unknown.join(', ')}, which the spec does not name, may be gone, and is left out when another look does not find it either`;
  return { is: 'wait', reason: 'EnvironmentNotFound', message: maybe, retryInMs: account.pollMs, note: { refusedAt } };
}

/** Returns the ids that the account's list of environments does not show. */
function unseenIn({ view, account }: AccessPass, ids: readonly string[]): readonly string[] {
  const list = appEnvsOf(account.accountId);
  return ids.filter((id) => view.one(list, id)?.item === undefined);
}

function named(names: readonly string[]): string {
  return names.map((name) => `AppEnvironment ${name}`).join(', ');
}

/** Which environments a member of the account may see and use. */
export const memberAccess = defineKind<MemberAccessSpec, MemberAccessFacts>({
  kind: 'MemberAccess',
  plural: 'memberaccesses',
  shortNames: ['maccess'],
  scope: 'Namespaced',
  summary: 'Which environments a member of the account may see and use.',
  life: 'long',
  spec: MemberAccessSpec,
  facts: MemberAccessFacts,
  internal: ['setAppEnvIds', 'askedAppEnvIds'],
  idWord: 'membershipId',
  holds: true,
  columns: [
    { name: 'ACCESS', path: '.spec.access', description: 'What the spec asks for.' },
    { name: 'IN-EFFECT', path: '.status.access', description: 'What the service shows.' },
  ],
  selectable: ['.spec.externalId', '.spec.access', '.status.access'],
  needs: ({ environmentRefs = [] }) => ({
    references: environmentRefs.flatMap((ref) => needOf('AppEnvironment', ref, 'environmentRefs', { optional: true })),
  }),
  claims: ({ externalId }) => [externalId],
  always: ['AccessWiderThanSpec'],
  interfaceWords: () => ({ allowedAppEnvIds: 'environmentRefs', membershipId: 'externalId' }),
  step,
  show,
});
