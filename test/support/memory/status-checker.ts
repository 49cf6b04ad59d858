import type { Condition } from '../../../src/engine/kind/contract/step.ts';
import { canHave } from '../../../src/crd/remedies.ts';
import { reasons, type Reason } from '../../../src/engine/kind/contract/reasons.ts';
import type { KubeObject } from '../../../src/engine/ports.ts';

/** What is wrong with a status, one sentence each; empty for one that every tool reads rightly. */
export function statusFlaws(status: unknown, generation: number, kind?: string): readonly string[] {
  const { conditions = [], observedGeneration } = (status ?? {}) as {
    conditions?: readonly Condition[];
    observedGeneration?: number;
  };
  const find = (type: string) => conditions.find((condition) => condition.type === type);
  const flaws: string[] = [];
  const ready = find('Ready');
  if (ready === undefined) return ['there is no Ready condition'];
  if (find('Synced') === undefined) flaws.push('there is no Synced condition');
  const reconciling = find('Reconciling')?.status === 'True';
  const stalled = find('Stalled')?.status === 'True';
  if (reconciling && stalled) flaws.push('Reconciling and Stalled at once');
  if (ready.status === 'True' && (reconciling || stalled)) flaws.push('Ready, and yet Reconciling or Stalled');
  if (ready.status === 'False' && !reconciling && !stalled) flaws.push('neither Ready nor Reconciling nor Stalled');
  if (new Set(conditions.map(({ type }) => type)).size !== conditions.length) flaws.push('a type appears twice');
  for (const { type, reason, observedGeneration: seen, message, lastTransitionTime } of conditions) {
    if (!isReason(reason)) flaws.push(`${type} has the reason ${reason}, which is not in the list`);
    else if (kind !== undefined && !canHave(kind, reason))
      flaws.push(`${type} has the reason ${reason}, which the page of ${kind} does not have`);
    if (seen > generation) flaws.push(`${type} claims generation ${seen} of ${generation}`);
    if (message.length > 1_024) flaws.push(`${type} has a message that is too long`);
    if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(lastTransitionTime)) flaws.push(`${type} has no time`);
  }
  if (observedGeneration !== undefined && observedGeneration > generation) flaws.push('observedGeneration is ahead');
  if (ready.status === 'True' && ready.observedGeneration !== observedGeneration)
    flaws.push('Ready is of another generation');
  return flaws;
}

function isReason(text: string): text is Reason {
  return Object.hasOwn(reasons, text);
}

/** The flaws of an object's status. */
export function flawsOf(object: KubeObject): readonly string[] {
  return statusFlaws(object.status, object.metadata.generation ?? 0, object.kind);
}
