/**
 * Which environments a member may reach.
 *
 * To the service an empty list means every environment. Guarantees: the empty list is sent only for `access: Full` and for
 * the chosen `GrantFullAccess`; without an edit of the spec no environment of the spec is taken from a list; while an
 * environment is not resolved nothing is sent, except to close a restriction that the service shows as lifted.
 */
import { adoptionWithin } from '../engine/kind/create.ts';
import { defineKind } from '../engine/kind/define.ts';
import { readOf } from '../engine/kind/reading.ts';
import { onDeleteAnnotation } from '../engine/kind/removal.ts';
import type { Call, Step } from '../engine/kind/step.ts';
import { appEnvsOf, patchMemberEnvAccess, patchMemberEnvAccessToFull } from '../hosting/requests.ts';
import {
  allowedOf,
  isEdited,
  readAccess,
  sameIds,
  show,
  targetOf,
  wantedOf,
  type AccessPass,
} from './member-access-view.ts';
import { identity, type Facts, type Spec } from './schema/member-access.ts';

function step(pass: AccessPass): Step<Facts> {
  const { subject, spec, memory, account } = pass;
  if (subject.deleting) return leave(pass);
  const { membershipId } = spec;
  const other = pass.claimant(membershipId);
  if (other?.goesFirst === true) {
    const message = `the access of ${membershipId} belongs to ${other.name}, which is older; one membership has one owner`;
    return { is: 'stall', reason: 'Claimed', message };
  }
  if (adoptionWithin(spec.lifecycle?.adoption, account) === 'Never') {
    const message = `spec.membershipId names ${membershipId}, and adoption is Never here; the account's spec.adoption must allow ById`;
    return { is: 'stall', reason: 'AdoptionNotAllowed', message };
  }
  const seen = pass.view.one(readAccess(pass), membershipId);
  if (seen === undefined) return readOf(pass, readAccess(pass), Number.NEGATIVE_INFINITY);
  const allowed = allowedOf(pass);
  if (allowed === undefined) {
    return {
      is: 'stall',
      reason: 'NotFound',
      message: `the account has no membership ${membershipId}; nothing is sent`,
    };
  }
  if (memory.id !== membershipId) {
    const { endpoint, accountId } = account;
    return { is: 'again', remember: { id: membershipId, ownership: 'Adopted', binding: { endpoint, accountId } } };
  }
  return spec.access === 'Full' ? grant(pass, allowed) : restrict(pass, allowed);
}

/** The spec gives everything, and says so: the one use of the empty list while the resource lives. */
function grant(pass: AccessPass, allowed: readonly string[]): Step<Facts> {
  if (allowed.length === 0) return settled(pass, undefined);
  const held = holdsBack(pass);
  if (held !== undefined) return held;
  return {
    is: 'call',
    call: {
      ...callOf(pass, []),
      request: patchMemberEnvAccessToFull(membershipOf(pass)),
      words: `give ${pass.spec.membershipId} every environment`,
    },
  };
}

function restrict(pass: AccessPass, allowed: readonly string[]): Step<Facts> {
  const { ids, unresolved } = wantedOf(pass);
  const isOpen = allowed.length === 0;
  const wasClosed = (pass.memory.facts.setAppEnvIds ?? []).length > 0;
  const list = appEnvsOf(pass.account.accountId);
  if (ids.some((id) => pass.view.one(list, id) === undefined)) return readOf(pass, list, Number.NEGATIVE_INFINITY);
  const unseen = ids.filter((id) => pass.view.one(list, id)?.item === undefined && !allowed.includes(id));
  if (isOpen && wasClosed)
    return close(
      pass,
      ids.filter((id) => !unseen.includes(id)),
    );
  if (unresolved.length > 0) {
    const message = `spec.environments refers to ${named(unresolved)}, which does not exist or has no id yet; nothing is sent, so that nothing is widened`;
    return { is: 'wait', reason: 'ReferenceNotReady', message };
  }
  if (unseen.length > 0) {
    const message = `there is no environment ${unseen.join(', ')}; nothing is sent until it shows or the spec changes`;
    return { is: 'wait', reason: 'EnvironmentNotFound', message };
  }
  const target = targetOf(pass, ids, allowed);
  const set = isEdited(pass) ? ids : [...new Set([...(pass.memory.facts.setAppEnvIds ?? []), ...ids])].toSorted();
  if (sameIds(target, allowed)) return settled(pass, set);
  return send(pass, target, set);
}

/** The service shows every environment though the spec restricts: the restriction is put back with what is there. */
function close(pass: AccessPass, remainder: readonly string[]): Step<Facts> {
  const { membershipId } = pass.spec;
  if (remainder.length === 0) {
    const message = `${membershipId} has full access though the spec restricts it, and none of spec.environments exists any more: an empty list would mean full access, so nothing can be sent; name an environment that exists`;
    return { is: 'stall', reason: 'AccessWiderThanSpec', message };
  }
  const before = isEdited(pass) ? [] : (pass.memory.facts.setAppEnvIds ?? []);
  const step = send(pass, remainder, [...new Set([...before, ...remainder])].toSorted());
  if (step.is !== 'call') return step;
  const note = `${membershipId} had full access though the spec restricts it; restricting it to ${remainder.join(', ')} again`;
  return { ...step, call: { ...step.call, warns: { reason: 'AccessWiderThanSpec', note } } };
}

function send(pass: AccessPass, target: readonly string[], set: readonly string[]): Step<Facts> {
  const { spec, memory } = pass;
  const [first, ...others] = target;
  if (first === undefined) {
    const message = 'spec.environments names none: an empty list would mean full access, so nothing is sent';
    return { is: 'stall', reason: 'InvalidSpec', message };
  }
  const held = holdsBack(pass) ?? stale(pass);
  if (held !== undefined) return held;
  return {
    is: 'call',
    call: {
      ...callOf(pass, target),
      request: patchMemberEnvAccess({ ...membershipOf(pass), allowedAppEnvIds: [first, ...others] }),
      words: `restrict ${spec.membershipId} to ${target.join(', ')}`,
      committed: () => ({
        applied: { generation: pass.subject.generation, prints: {} },
        facts: { ...memory.facts, setAppEnvIds: [...set] },
      }),
    },
  };
}

/** Why a difference that somebody made in the service is not corrected. */
function holdsBack(pass: AccessPass): Step<Facts> | undefined {
  const { spec, contested } = pass;
  if (isEdited(pass)) return undefined;
  if (spec.lifecycle?.drift === 'Report') {
    return {
      is: 'ready',
      reason: 'Observed',
      message: 'differs from the spec in environments; drift is only reported',
    };
  }
  if (!contested.has('environments')) return undefined;
  const message = `somebody else keeps changing what ${spec.membershipId} may reach; it is left as it is for now`;
  return { is: 'stall', reason: 'Contested', message };
}

/** A list is written over what was read just before, since the service adds to it by itself. */
function stale(pass: AccessPass): Step<Facts> | undefined {
  const read = readAccess(pass);
  const since = Math.max(pass.askedAt, pass.notes['lookSince'] ?? Number.NEGATIVE_INFINITY);
  const seen = pass.view.one(read, pass.spec.membershipId);
  return seen === undefined || seen.walk.begunAt < since ? readOf(pass, read, since) : undefined;
}

function membershipOf({ account, spec }: AccessPass): { readonly accountId: string; readonly membershipId: string } {
  return { accountId: account.accountId, membershipId: spec.membershipId };
}

function callOf(pass: AccessPass, target: readonly string[]): Omit<Call<Facts>, 'request' | 'words'> {
  const { memory, subject, spec } = pass;
  return {
    urgency: isEdited(pass) ? 'edit' : 'drift',
    corrects: isEdited(pass) ? [] : ['environments'],
    wrote: () => ({ allowedAppEnvIds: [...target] }),
    refused: ({ is, message }) =>
      is === 'inDoubt'
        ? {
            is: 'wait',
            reason: 'InDoubt',
            message: `changing what ${spec.membershipId} may reach: ${message}; looking what came of it`,
            retryInMs: 2_000,
            note: { ...pass.notes, lookSince: pass.monotonicMs + 1 },
          }
        : undefined,
    committed: () => ({
      applied: { generation: subject.generation, prints: {} },
      facts: { ...memory.facts, setAppEnvIds: undefined },
    }),
  };
}

function settled(pass: AccessPass, set: readonly string[] | undefined): Step<Facts> {
  const { memory, subject } = pass;
  if (!isEdited(pass) && sameIds(memory.facts.setAppEnvIds ?? [], set ?? [])) return { is: 'ready', note: {} };
  const applied = { generation: subject.generation, prints: {} };
  return { is: 'again', remember: { applied, facts: { ...memory.facts, setAppEnvIds: set && [...set] } } };
}

/** Deleting the resource leaves the restriction, unless giving full access was chosen. */
function leave(pass: AccessPass): Step<Facts> {
  const { spec, memory, account, subject, notes } = pass;
  const stays = `the access of ${spec.membershipId} stays as it is in the service`;
  const grants = spec.lifecycle?.onDelete === 'GrantFullAccess' && subject.annotations[onDeleteAnnotation] !== 'Retain';
  const isObserved = spec.lifecycle?.mode === 'Observe' || account.mode === 'Observe';
  if (memory.id !== spec.membershipId || memory.applied === undefined) return { is: 'release' };
  if (!grants || isObserved) return { is: 'release', stays };
  if (pass.claimant(spec.membershipId)?.goesFirst === true) return { is: 'release', stays };
  const since = Math.max(pass.askedAt, notes['grantedAt'] ?? Number.NEGATIVE_INFINITY);
  const seen = pass.view.one(readAccess(pass), spec.membershipId);
  if (seen === undefined || seen.walk.begunAt < since) return readOf(pass, readAccess(pass), since);
  if (seen.item === undefined || seen.item.allowedAppEnvIds.length === 0) return { is: 'release' };
  if (notes['grantedAt'] !== undefined && pass.monotonicMs - notes['grantedAt'] < pass.horizonMs) {
    const message = `${spec.membershipId} was given every environment; waiting until the service shows it`;
    return { is: 'wait', reason: 'Deleting', message, retryInMs: 2_000 };
  }
  return {
    is: 'call',
    call: {
      ...callOf(pass, []),
      request: patchMemberEnvAccessToFull(membershipOf(pass)),
      words: `give ${spec.membershipId} every environment, as lifecycle.onDelete: GrantFullAccess asks`,
      note: (at) => ({ grantedAt: at }),
      committed: () => ({}),
    },
  };
}

function named(names: readonly string[]): string {
  return names.map((name) => `AppEnvironment ${name}`).join(', ');
}

/** Which environments a member of the account may see and use. */
export const memberAccess = defineKind<Spec, Facts>({
  ...identity,
  needs: ({ environments = [] }) => ({
    references: environments.flatMap(({ environmentRef }) =>
      environmentRef === undefined
        ? []
        : [{ kind: 'AppEnvironment', name: environmentRef.name, field: 'environments', optional: true }],
    ),
  }),
  claims: ({ membershipId }) => [membershipId],
  step,
  show,
});
