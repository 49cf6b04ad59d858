/**
 * What the service shows of an object that is already bound to an id.
 *
 * Guarantees: our own writes are believed over reads that began before them; a list that shows the value from before our
 * write, or not the object at all, counts only after a direct read says the same; an object is gone only after two direct
 * reads a poll apart.
 *
 * Why: docs/design/absence-and-visibility.md#absent-needs-proof
 */
import type { Read, ReadProblem, Snapshot } from '../../ports.ts';
import { sameValue } from './compare.ts';
import type { Pass } from '../contract/pass.ts';
import type { ObjectPlan, Sight } from './plan.ts';
import { readOf } from './reading.ts';
import type { Reason } from '../contract/reasons.ts';
import type { Notes, Step } from '../contract/step.ts';

export type Look<Facts, Item> =
  | { readonly is: 'seen'; readonly seen: Sight<Item> }
  | { readonly is: 'gone' }
  | { readonly is: 'unclear'; readonly step: Step<Facts> };

/** How many polls a list is believed for after the service began to refuse it. */
export const believedPolls = 2;
const refusing: ReadonlySet<ReadProblem['why']> = new Set(['refused', 'forbidden']);

/** Looks for a bound object, asking for the reads that a safe answer needs. */
export function look<Spec, Facts, Item>(
  plan: ObjectPlan<Spec, Facts, Item>,
  pass: Pass<Spec, Facts>,
  id: string,
): Look<Facts, Item> {
  const list = plan.list(pass);
  const listed = pass.view.one(list, id);
  if (listed === undefined) return { is: 'unclear', step: readOf(pass, list, Number.NEGATIVE_INFINITY) };
  const { item, snapshot } = listed;
  if (refusedFor(pass, list, snapshot) >= believedPolls * pass.account.pollMs)
    return lookDirectly(plan, pass, id, pass.monotonicMs - pass.account.pollMs);
  const older = pass.wrote !== undefined && snapshot.begunAt < pass.wrote.at;
  if (item === undefined) return older ? ownWrite(pass) : lookDirectly(plan, pass, id, snapshot.begunAt);
  const fields = plan.observed(item, pass);
  if (older) return { is: 'seen', seen: { item, fields: { ...fields, ...pass.wrote?.fields } } };
  if (contradicts(pass, fields)) return lookDirectly(plan, pass, id, snapshot.begunAt);
  return { is: 'seen', seen: { item, fields } };
}

/** For how long the service has refused this list, whose items may then be gone. A list that cannot be reached is believed. */
export function refusedFor<Spec, Facts>(pass: Pass<Spec, Facts>, list: Read, snapshot: Snapshot): number {
  const problem = pass.view.problem(list);
  return problem !== undefined && refusing.has(problem.why) ? pass.monotonicMs - snapshot.begunAt : 0;
}

/** The service as we left it ourselves a moment ago. */
function ownWrite<Spec, Facts, Item>(pass: Pass<Spec, Facts>): Look<Facts, Item> {
  return { is: 'seen', seen: { item: undefined, fields: pass.wrote?.fields ?? {} } };
}

/** True when a list contradicts our own write of less than a horizon ago: the list may lag. */
function contradicts<Spec, Facts>(pass: Pass<Spec, Facts>, fields: Readonly<Record<string, unknown>>): boolean {
  const wrote = pass.wrote;
  if (wrote === undefined || pass.monotonicMs - wrote.at > pass.horizonMs) return false;
  return Object.entries(wrote.fields).some(([field, value]) => {
    const seen = fields[field];
    return seen !== undefined && !sameValue(value, seen as typeof value);
  });
}

function lookDirectly<Spec, Facts, Item>(
  plan: ObjectPlan<Spec, Facts, Item>,
  pass: Pass<Spec, Facts>,
  id: string,
  since: number,
): Look<Facts, Item> {
  const direct = lookTwice(pass, { noun: plan.noun, single: plan.single(id), id, since });
  if (direct.is !== 'there') return direct;
  return { is: 'seen', seen: { item: direct.item, fields: plan.observed(direct.item, pass) } };
}

/** The wait while the account is frozen, when a missing object proves nothing; undefined while it is not. */
export function sightLost({ account }: Pass<unknown, unknown>): Extract<Step<never>, { is: 'wait' }> | undefined {
  const { frozen } = account;
  return frozen === undefined ? undefined : { is: 'wait', reason: 'VisibilityLost', message: frozen };
}

/** The wait after a take-over, until calls of the predecessor can no longer arrive; `held` says what waits. */
export function takingOver(
  { quarantineMs }: Pass<unknown, unknown>,
  held: string,
): Extract<Step<never>, { is: 'wait' }> | undefined {
  if (quarantineMs <= 0) return undefined;
  const message = `this operator has just taken over; ${held} until calls of its predecessor can no longer arrive`;
  return { is: 'wait', reason: 'TakeOver', message, retryInMs: quarantineMs };
}

/** The step until two reads, far enough apart, both miss something; undefined once they do. */
export function missedTwice(
  pass: Pass<unknown, unknown>,
  look: { readonly read: Read; readonly begunAt: number; readonly apartMs: number },
  said: { readonly reason: Reason; readonly message: string },
): Extract<Step<never>, { is: 'read' | 'wait' }> | undefined {
  const { read, begunAt, apartMs } = look;
  const { missedAt } = pass.notes;
  if (missedAt === undefined) {
    return { is: 'wait', ...said, retryInMs: apartMs, note: { ...pass.notes, missedAt: begunAt } };
  }
  if (begunAt - missedAt >= apartMs) return undefined;
  const dueIn = missedAt + apartMs - pass.monotonicMs;
  if (dueIn > 0) return { is: 'wait', ...said, retryInMs: Math.ceil(dueIn), note: pass.notes };
  return { ...readOf(pass, read, missedAt + apartMs), note: pass.notes };
}

/** Notes without what was missed: the next miss is a first one. */
export function withoutMisses({ missedAt: _miss, followedSince: _since, provedGone: _proof, ...notes }: Notes): Notes {
  return notes;
}

/** Reads one object by id: it is gone only after two such reads a poll apart. */
export function lookTwice<Spec, Facts, Item>(
  pass: Pass<Spec, Facts>,
  about: { readonly noun: string; readonly single: Read<Item>; readonly id: string; readonly since: number },
): { readonly is: 'there'; readonly item: Item } | Exclude<Look<Facts, Item>, { is: 'seen' }> {
  const { noun, single, id, since } = about;
  const direct = pass.view.one(single, id);
  if (direct === undefined || direct.snapshot.begunAt < since) {
    return { is: 'unclear', step: { ...readOf(pass, single, since), note: pass.notes } };
  }
  if (direct.item !== undefined) return { is: 'there', item: direct.item };
  const { begunAt } = direct.snapshot;
  const message = `${noun} ${id} is not found in the service; looking once more before it counts as gone`;
  const step = missedTwice(
    pass,
    { read: single, begunAt, apartMs: pass.account.pollMs },
    { reason: 'ObjectMissing', message },
  );
  return step === undefined ? { is: 'gone' } : { is: 'unclear', step };
}

/**
 * Releases a resource whose object was inside something that is gone, such as an alert in a deleted environment. Two
 * answers must agree: the list inside it is refused, and it is missing from its own list.
 */
export function releasedWithPlace<Spec, Facts, Item>(
  plan: ObjectPlan<Spec, Facts, Item>,
  pass: Pass<Spec, Facts>,
  since: number,
): Step<Facts> | undefined {
  const place = plan.placeOf?.(pass);
  if (place === undefined || !pass.subject.deleting || pass.account.frozen !== undefined) return undefined;
  const problem = pass.view.problem(plan.list(pass));
  if (problem?.why !== 'refused' || problem.at < since) return undefined;
  const seen = pass.view.one(place.list, place.id);
  if (seen === undefined || seen.snapshot.begunAt < since) return readOf(pass, place.list, since);
  return seen.item === undefined ? { is: 'release' } : undefined;
}
