/**
 * Sends the list of environments that a member may reach: when to wait, what status records before the call, and what the
 * answer means.
 *
 * Why: docs/design/member-access.md
 */
import { readOf } from '../../engine/kind/planner/observe.ts';
import { type Call, type Refusal, type Verdict, isNo } from '../../engine/kind/contract/step.ts';
import type { Request } from '../../engine/ports.ts';
import { appEnvsOf, patchMemberEnvAccess, patchMemberEnvAccessToFull } from '../../hosting/requests.ts';
import { factsWith, isEdited, readAccess, remembered, union, type AccessPass, type AccessStep } from './view.ts';
import { leaveDrift } from '../shared/drift.ts';
import type { MemberAccessFacts } from './schema.ts';

/** A list of environments to send. */
export interface Sending {
  /** The whole list to send. Never empty: an empty list means every environment. */
  readonly target: readonly string[];
  /** The ids in the list that the spec names. */
  readonly ids: readonly string[];
  /** True when the list has everything that the spec names. */
  readonly isWhole: boolean;
}

/** Restricts the member to a list of environments. */
export function restrictTo(pass: AccessPass, { target, ids, isWhole }: Sending): AccessStep {
  const { spec, memory, subject } = pass;
  const [first, ...others] = target;
  if (first === undefined) {
    const message = 'spec.environmentRefs names none: an empty list would mean full access, so nothing is sent';
    return { is: 'stall', reason: 'InvalidSpec', message };
  }
  const held = holdsBack(pass) ?? stale(pass);
  if (held !== undefined) return held;
  const request = patchMemberEnvAccess({ ...membershipOf(pass), allowedAppEnvIds: [first, ...others] });
  const { set, asked } = remembered(pass);
  const call: Call<MemberAccessFacts> = {
    ...callOf(pass, request, target),
    words: `restrict ${spec.externalId} to ${target.join(', ')}`,
    // Record the ids before the call: after a lost answer they must still count as asked for by us.
    ...(ids.some((id) => !set.includes(id) && !asked.includes(id)) && {
      meanwhile: { facts: { ...memory.facts, askedAppEnvIds: [...union(asked, ids)] } },
    }),
    committed: () => ({
      ...(isWhole && { applied: { generation: subject.generation, prints: {} } }),
      facts: isWhole ? factsWith(pass, ids) : { ...memory.facts, setAppEnvIds: [...union(set, ids)] },
    }),
  };
  return { is: 'call', call };
}

/** True if managementPolicy of the resource or of its account is Observe. */
export function isObserved({ spec, account }: AccessPass): boolean {
  return spec.lifecycle?.managementPolicy === 'Observe' || account.managementPolicy === 'Observe';
}

/** Gives the member every environment: the only place where the empty list is sent. */
export function openUp(pass: AccessPass, words: string): Call<MemberAccessFacts> {
  return { ...callOf(pass, patchMemberEnvAccessToFull(membershipOf(pass)), []), words };
}

/** Leaves drift as it is, where the spec only wants it reported, or somebody else keeps changing the list. */
export function holdsBack(pass: AccessPass): AccessStep | undefined {
  return isEdited(pass) ? undefined : leaveDrift(pass, 'environments', `what ${pass.spec.externalId} may reach`);
}

/** Reads the list right before it is written, because the service adds to it by itself. */
function stale(pass: AccessPass): AccessStep | undefined {
  const read = readAccess(pass);
  const seen = pass.view.one(read, pass.spec.externalId);
  return seen === undefined || seen.snapshot.begunAt < pass.askedAt
    ? { ...readOf(pass, read, pass.askedAt), note: pass.notes }
    : undefined;
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

/** Decides what follows a refusal or a lost answer. */
function saidNo(pass: AccessPass, refusal: Refusal, target: readonly string[]): Verdict<MemberAccessFacts> | undefined {
  const { is, message } = refusal;
  const words = `changing what ${pass.spec.externalId} may reach: ${message}`;
  if (is === 'inDoubt') {
    const again = `${words}; its effect is read before it is sent again`;
    return { is: 'wait', reason: 'InDoubt', message: again, retryInMs: 2_000 };
  }
  const unknown = pass.notes['refusedAt'] === undefined ? unseenIn(pass, target) : [];
  if ((isNo(refusal) || is === 'notFound') && unknown.length > 0) {
    const maybe = `${words}; ${unknown.join(', ')}, which the spec does not name, may be gone, and is left out when another look does not find it either`;
    const { account, monotonicMs: refusedAt } = pass;
    return {
      is: 'wait',
      reason: 'EnvironmentNotFound',
      message: maybe,
      retryInMs: account.pollMs,
      note: { refusedAt },
    };
  }
  return is === 'conflict' ? { is: 'stall', reason: 'Rejected', message: words } : undefined;
}

/** The ids that the account's list of environments does not show. */
export function unseenIn({ view, account }: AccessPass, ids: readonly string[]): readonly string[] {
  const list = appEnvsOf(account.accountId);
  return ids.filter((id) => view.one(list, id)?.item === undefined);
}
