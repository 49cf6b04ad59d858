/**
 * Finds out whether a refused call failed because an object that it names is gone.
 *
 * Guarantees: an object is called gone only after a read of its own since the refusal; if none is gone, the second refusal
 * stands.
 *
 * Why: docs/design/at-most-once.md#after-a-no-read-before-believing-it
 */
import type { Pass } from '../contract/pass.ts';
import type { ObjectPlan } from './plan.ts';
import { readOf } from './reading.ts';
import { lookTwice } from './observe.ts';
import type { Call, Refusal, Step, Verdict } from '../contract/step.ts';

const recheckMs = 300_000;

/** Reads, before a refused call is repeated, whether an object that it names is missing; undefined when none is. */
export function lookAfterDenial<Spec, Facts, Item>(
  plan: ObjectPlan<Spec, Facts, Item>,
  pass: Pass<Spec, Facts>,
  id: string | undefined,
): { readonly is: 'gone' } | { readonly is: 'unclear'; readonly step: Step<Facts> } | undefined {
  const { deniedAt } = pass.notes;
  if (deniedAt === undefined) return undefined;
  const since = Math.max(deniedAt, pass.monotonicMs - recheckMs);
  if (id !== undefined) {
    const own = lookTwice(pass, { noun: plan.noun, single: plan.single(id), id, since: deniedAt });
    if (own.is !== 'there') return own;
  }
  for (const target of plan.namesInCalls?.(pass) ?? []) {
    const found = pass.view.one(target.single, target.id);
    if (found === undefined || found.snapshot.begunAt < since)
      return { is: 'unclear', step: readOf(pass, target.single, since) };
    if (found.item !== undefined) continue;
    const message = `${target.words} is gone from the service, which refuses the ${plan.noun} with it`;
    return { is: 'unclear', step: { is: 'wait', reason: 'ReferenceNotReady', message, retryInMs: recheckMs } };
  }
  return undefined;
}

/** The verdict on a refusal before the named objects were checked; undefined when the refusal stands as it is. */
export function denied<Spec, Facts, Item>(
  plan: ObjectPlan<Spec, Facts, Item>,
  pass: Pass<Spec, Facts>,
  words: string,
  refusal: Refusal,
): Verdict<Facts> | undefined {
  const isAboutOthers = refusal.is === 'refused' && plan.namesInCalls !== undefined;
  if (refusal.is !== 'notFound' && !isAboutOthers) return undefined;
  const message = `${words}: ${refusal.message}`;
  if (pass.notes['deniedAt'] !== undefined) return { is: 'stall', reason: 'Rejected', message };
  return {
    is: 'wait',
    reason: 'ObjectMissing',
    message: `${message}; looking what is gone`,
    retryInMs: 1,
    note: { ...pass.notes, deniedAt: pass.monotonicMs + 1 },
  };
}

/** The other object that may have the wanted name: the service may allow each name once. */
export function namesake<Spec, Facts, Item>(
  plan: ObjectPlan<Spec, Facts, Item>,
  pass: Pass<Spec, Facts>,
): Required<Call<Facts>>['obstacle'] {
  return { read: plan.list(pass), shown: () => holderOfName(plan, pass) };
}

/** Names the other object that has the wanted name, and its resource. */
function holderOfName<Spec, Facts, Item>(
  plan: ObjectPlan<Spec, Facts, Item>,
  pass: Pass<Spec, Facts>,
): string | undefined {
  const name = plan.name(pass);
  const items = [...(pass.view.all(plan.list(pass))?.items ?? [])];
  const [id] = items.find(([other, item]) => other !== pass.memory.id && plan.nameOf(item) === name) ?? [];
  if (id === undefined) return undefined;
  const owner = pass.claimant(id)?.name;
  return `${plan.noun} ${id} has the name "${name}"${owner === undefined ? '' : ` and belongs to ${owner}`}`;
}
