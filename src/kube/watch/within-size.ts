import { isRecord } from '../../base/json.ts';
import type { KubeObject } from '../../engine/ports.ts';

/** How many characters of text a spec may have: a hundred times an ordinary one. */
export const mostSpecSize = 512 * 1024;

/**
 * The object as it is kept. Whoever may write a resource could fill the operator's memory with a few hundred of 1.4 MB: a
 * spec that is larger than `mostSpecSize` is dropped, all but its account, with a sentence for the status of that object.
 */
export function withinSize(object: KubeObject): KubeObject {
  const { spec } = object;
  if (leftOf(mostSpecSize, spec) >= 0) return object;
  const accountRef = isRecord(spec) ? spec['accountRef'] : undefined;
  return {
    ...object,
    spec: accountRef === undefined ? {} : { accountRef },
    tooLarge: `spec: is larger than ${mostSpecSize / 1024} kB, which is more than the operator reads; make it smaller`,
  };
}

/** What is left of a budget of characters; negative as soon as it is used up. */
function leftOf(budget: number, value: unknown): number {
  if (typeof value === 'string') return budget - value.length;
  if (typeof value !== 'object' || value === null) return budget - 1;
  let left = budget;
  for (const [key, part] of Object.entries(value)) {
    left = leftOf(left - key.length, part);
    if (left < 0) return left;
  }
  return left;
}
