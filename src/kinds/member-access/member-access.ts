/**
 * Restricts which environments a member may reach.
 *
 * In the service's API, an empty list of environments means every environment. Guarantees: the empty list is sent only
 * for `access: Full` and for `onDelete: GrantFullAccess`. While a reference in the spec does not resolve, nothing is
 * sent. Until the spec is edited, the operator adds only environments that the spec named when it was applied, and
 * removes none of these.
 *
 * There is one exception: if the service shows full access for a member whom the operator has restricted, the operator
 * at once sends those environments of the spec that it finds.
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
  const claimed = claimedByOlder(pass, membershipId, `the access of member ${membershipId}`, 'membership');
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

/**
 * Gives the member full access by sending the empty list, because spec.access is Full. While the resource exists, the
 * operator sends the empty list only in this case.
 */
function grant(pass: AccessPass, allowed: readonly string[]): AccessStep {
  if (allowed.length === 0) return asWanted(pass, []);
  return leftDrift(pass) ?? { is: 'call', call: openUp(pass, `give member ${pass.spec.externalId} full access`) };
}

function restrict(pass: AccessPass, allowed: readonly string[]): AccessStep {
  const { ids, unresolved } = wantedOf(pass);
  const { set } = remembered(pass.memory.facts);
  const list = appEnvsOf(pass.account.accountId);
  if (ids.some((id) => pass.view.one(list, id) === undefined)) return readOf(pass, list);
  if (allowed.length === 0 && set.length > 0) return close(pass);
  if (unresolved.length > 0) {
    const message = `spec.environmentRefs refers to ${named(unresolved)}, which does not exist, belongs to another account or has no id in the service yet; nothing is sent`;
    return { is: 'wait', reason: 'ReferenceNotReady', message };
  }
  const others = isEdited(pass) ? [] : ids.filter((id) => !set.includes(id) && !allowed.includes(id));
  if (others.length > 0) return changed(pass, others);
  const target = targetOf(pass, ids, allowed);
  const isAsWanted = sameIds(target, allowed);
  const unseen = unseenIn(pass, ids).filter((id) => !isAsWanted || !allowed.includes(id));
  if (unseen.length > 0) {
    const message = `the service does not list environment ${unseen.join(', ')}; nothing is sent until the service lists it or the spec changes`;
    return { is: 'wait', reason: 'EnvironmentNotFound', message };
  }
  if (isAsWanted) return asWanted(pass, ids);
  return withoutGone(pass, target) ?? restrictTo(pass, target, { ids, isWhole: true });
}

/**
 * Stalls if a reference resolves to another environment than at the time when the spec was applied. An edit of another
 * resource must not widen the access of this member.
 */
function changed({ spec, referred }: AccessPass, ids: readonly string[]): AccessStep {
  const names = (spec.environmentRefs ?? []).flatMap(({ name }) => name ?? []);
  const moved = names.filter((name) => ids.includes(referred('AppEnvironment', name)?.id ?? ''));
  const message = `${named(moved)} now manages environment ${ids.join(', ')}, which it did not manage when spec.environmentRefs was last applied; nothing is sent until this spec is edited (for example to name the environment by externalId), or its references lead to the earlier environments again`;
  return { is: 'stall', reason: 'EnvironmentChanged', message };
}

/**
 * If the service refused the list of environments, sends it again without those environments that are proved gone.
 * Environments that the spec names are never left out.
 */
function withoutGone(pass: AccessPass, target: readonly string[]): AccessStep | undefined {
  const { account, view, spec } = pass;
  const { deniedAt } = pass.notes;
  if (deniedAt === undefined || account.frozen !== undefined) return undefined;
  const list = appEnvsOf(account.accountId);
  const since = deniedAt + account.pollMs;
  const seen = view.one(list, spec.externalId);
  if (seen === undefined || seen.snapshot.begunAt < since) return readOf(pass, list, since);
  const gone = unseenIn(pass, target);
  const rest = target.filter((id) => !gone.includes(id));
  return restrictTo(pass, rest, { ids: wantedOf(pass).ids, isWhole: true });
}

/**
 * Restores the restriction if the service shows full access although the spec restricts the member. Environments that
 * do not exist and references that do not resolve are left out of the list that is sent.
 */
function close(pass: AccessPass): AccessStep {
  const { externalId: membershipId } = pass.spec;
  const { ids, unresolved } = wantedOf(pass);
  const { set } = remembered(pass.memory.facts);
  const gone = unseenIn(pass, ids);
  const there = ids.filter((id) => !gone.includes(id));
  const known = there.filter((id) => set.includes(id));
  // If no environment of the applied spec is left, send the environments to which the references resolve now. One of
  // them may be wrong, but access to a wrong environment is still less than full access.
  const target = isEdited(pass) || known.length === 0 ? there : known;
  if (target.length === 0) {
    const message = `member ${membershipId} has full access although the spec restricts the access, and none of the environments in spec.environmentRefs exists. Nothing is sent, because an empty list means full access; add an environment that exists`;
    return { is: 'stall', reason: 'AccessWiderThanSpec', message };
  }
  const isWhole = unresolved.length === 0 && target.length === ids.length;
  const step = restrictTo(pass, target, { ids: target, isWhole });
  if (step.is !== 'call') return step;
  const note = `member ${membershipId} had full access although the spec restricts the access; the operator restricts the access to ${target.join(', ')} again`;
  return { ...step, call: { ...step.call, warns: { reason: 'AccessWiderThanSpec', note } } };
}

function asWanted(pass: AccessPass, ids: readonly string[]): AccessStep {
  const { memory, subject } = pass;
  const facts = factsWith(pass, ids);
  if (!isEdited(pass) && sameJson(facts, memory.facts)) return { is: 'ready', note: {} };
  return { is: 'again', remember: { applied: { generation: subject.generation, fingerprints: {} }, facts } };
}

/** When the resource is deleted, leaves the restriction in the service, unless the spec asks to give the member full access. */
function leave(pass: AccessPass): AccessStep {
  const { spec, memory, subject, notes } = pass;
  const { externalId: membershipId } = spec;
  const grants =
    spec.lifecycle?.onDelete === 'GrantFullAccess' && subject.annotations[annotations.onDelete] !== 'Retain';
  const isUnknown = memory.id !== membershipId || memory.applied === undefined;
  if (isUnknown && !grants) return { is: 'release' };
  const ids = memory.facts.environmentIds ?? [];
  const reach = ids.length === 0 ? '' : ` (${ids.slice(0, 20).join(', ')})`;
  const stays = `the access of member ${membershipId} stays unchanged in the service${reach}`;
  if (isUnknown) {
    // Status does not show that the spec was ever applied. But a request with an unknown outcome may have restricted
    // the member.
    return { is: 'release', stays: `${stays}, because it is not certain that this resource restricted it` };
  }
  if (!grants || isObserved(pass)) return { is: 'release', stays };
  const other = pass.claimant(membershipId);
  if (other !== undefined) return { is: 'release', stays: `${stays}, because ${other.name} manages the same member` };
  const since = Math.max(pass.askedAt, notes.removedAt ?? Number.NEGATIVE_INFINITY);
  const seen = pass.view.one(readAccess(pass), membershipId);
  if (seen === undefined || seen.snapshot.begunAt < since) return readOf(pass, readAccess(pass), since);
  if (seen.item === undefined || seen.item.allowedAppEnvIds.length === 0) return { is: 'release' };
  if (notes.removedAt !== undefined && pass.monotonicMs - notes.removedAt < pass.horizonMs) {
    const message = `member ${membershipId} was given access to every environment; waiting until the service shows the change`;
    return { is: 'wait', reason: 'Deleting', message, retryInMs: 2_000 };
  }
  const words = `give member ${membershipId} access to every environment, because lifecycle.onDelete is GrantFullAccess`;
  const call = openUp(pass, words);
  return { is: 'call', call: { ...call, note: (removedAt) => ({ removedAt }), committed: () => ({}) } };
}

// ---- sending the list of environments --------------------------------------------------------------------------
//
// Sends a member's list of environments. Decides when to wait, what status records before the call, and what follows
// from the response.

/**
 * Restricts the member to the environments in `target`. `ids` are the environments in `target` that the spec names.
 * `isWhole` is true if the spec names no others.
 */
function restrictTo(
  pass: AccessPass,
  target: readonly string[],
  { ids, isWhole }: { readonly ids: readonly string[]; readonly isWhole: boolean },
): AccessStep {
  const { spec, memory, subject } = pass;
  const [first, ...others] = target;
  if (first === undefined) {
    const message = 'spec.environmentRefs is empty: an empty list would mean full access, so nothing is sent';
    return { is: 'stall', reason: 'InvalidSpec', message };
  }
  const waits = leftDrift(pass) ?? stale(pass);
  if (waits !== undefined) return waits;
  const request = patchMemberEnvAccess({ ...membershipOf(pass), allowedAppEnvIds: [first, ...others] });
  const { set, asked } = remembered(pass.memory.facts);
  const call: Call<MemberAccessFacts> = {
    ...callOf(pass, request, target),
    words: `restrict ${spec.externalId} to ${target.join(', ')}`,
    // Record the ids in status before the call. If its outcome is unknown, the ids must still count as requested by
    // this resource.
    ...(ids.some((id) => !set.includes(id) && !asked.includes(id)) && {
      whileInFlight: { facts: { ...memory.facts, askedAppEnvIds: union(asked, ids) } },
    }),
    committed: () => ({
      ...(isWhole && { applied: { generation: subject.generation, fingerprints: {} } }),
      facts: isWhole ? factsWith(pass, ids) : { ...memory.facts, setAppEnvIds: union(set, ids) },
    }),
  };
  return { is: 'call', call };
}

/** True if managementPolicy of the resource or of its account is Observe. */
function isObserved({ spec, account }: AccessPass): boolean {
  return spec.lifecycle?.managementPolicy === 'Observe' || account.managementPolicy === 'Observe';
}

/**
 * Gives the member access to every environment by sending the empty list. This is the only place where that list is
 * sent.
 */
function openUp(pass: AccessPass, words: string): Call<MemberAccessFacts> {
  return { ...callOf(pass, patchMemberEnvAccessToFull(membershipOf(pass)), []), words };
}

/**
 * Leaves a difference uncorrected if the spec only asks to report drift, or if somebody else keeps changing the list of
 * environments.
 */
function leftDrift(pass: AccessPass): AccessStep | undefined {
  return isEdited(pass) ? undefined : leaveDrift(pass, 'environments', `member ${pass.spec.externalId}`);
}

/**
 * Reads the member's list of environments right before it is written, because the service itself may add environments to the
 * list.
 */
function stale(pass: AccessPass): AccessStep | undefined {
  const read = readAccess(pass);
  const begunAt = pass.view.one(read, pass.spec.externalId)?.snapshot.begunAt ?? Number.NEGATIVE_INFINITY;
  return begunAt < pass.askedAt ? readOf(pass, read, pass.askedAt) : undefined;
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
    committed: () => ({ applied: { generation: subject.generation, fingerprints: {} }, facts: factsWith(pass, []) }),
  };
}

/** Decides what to do if the service refused the member's list of environments, or if the outcome is unknown. */
function saidNo(pass: AccessPass, refusal: Refusal, target: readonly string[]): Verdict<MemberAccessFacts> | undefined {
  const { is, message } = refusal;
  const failure = `changing the access of member ${pass.spec.externalId}: ${message}`;
  if (is === 'inDoubt') {
    const again = `${failure}; the operator reads the member's access before it sends the change again`;
    return { is: 'wait', reason: 'InDoubt', message: again, retryInMs: 2_000 };
  }
  const isRefused = isNo(refusal) || is === 'notFound';
  const unknown = isRefused && pass.notes.deniedAt === undefined ? unseenIn(pass, target) : [];
  if (unknown.length === 0) return undefined;
  const { account, monotonicMs: deniedAt } = pass;
  const maybe = `${failure}; the service does not list environment ${unknown.join(', ')}. If the next list of environments lacks it, too, the operator sends the change without it`;
  return { is: 'wait', reason: 'EnvironmentNotFound', message: maybe, retryInMs: account.pollMs, note: { deniedAt } };
}

/** Returns those of the given ids that are missing from the account's list of environments. */
function unseenIn({ view, account }: AccessPass, ids: readonly string[]): readonly string[] {
  const list = appEnvsOf(account.accountId);
  return ids.filter((id) => view.one(list, id)?.item === undefined);
}

function named(names: readonly string[]): string {
  return names.map((name) => `AppEnvironment ${name}`).join(', ');
}

/** The MemberAccess kind: the environments that a member of the account may see and use. */
export const memberAccess = defineKind<MemberAccessSpec, MemberAccessFacts>({
  kind: 'MemberAccess',
  plural: 'memberaccesses',
  shortNames: ['maccess'],
  scope: 'Namespaced',
  summary: 'The environments that a member of the account may see and use.',
  life: 'long',
  spec: MemberAccessSpec,
  facts: MemberAccessFacts,
  internal: ['setAppEnvIds', 'askedAppEnvIds'],
  idWord: 'membershipId',
  holds: true,
  columns: [
    { name: 'ACCESS', path: '.spec.access', description: 'The access that the spec asks for.' },
    { name: 'IN-EFFECT', path: '.status.access', description: 'The access of the member in the service.' },
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
