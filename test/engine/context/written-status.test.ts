import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../src/engine/ports.ts';
import { writtenFlaws } from '../../support/memory/checked-kube.ts';

const time = '2026-01-01T00:00:00Z';
const conditions = ['Ready', 'Synced'].map((type) => ({
  type,
  status: 'True',
  reason: 'InSync',
  message: 'm',
  observedGeneration: 1,
  lastTransitionTime: time,
}));
const good = { observedGeneration: 1, conditions };
const object: KubeObject = {
  apiVersion: 'apphosting.dev/v1alpha1',
  kind: 'ContactPoint',
  metadata: { name: 'a', uid: 'u', resourceVersion: '1', generation: 1, creationTimestamp: time },
  status: { observedGeneration: -1 },
};

const bad: readonly { readonly status: object; readonly because: string }[] = [
  { status: { ...good, colour: 'red' }, because: 'the API server would drop a field that the schema does not name' },
  { status: { ...good, type: 'x'.repeat(65) }, because: 'a text is longer than the schema allows' },
  { status: { ...good, type: 7 }, because: 'a field has another type' },
  { status: { ...good, ownership: 'Stolen' }, because: 'a word is not one of those that the schema has' },
  { status: { ...good, conditions: [...conditions, ...conditions] }, because: 'a list by key repeats a key' },
  { status: { ...good, binding: { endpoint: null } }, because: 'nothing is not a value' },
  { status: { observedGeneration: 1, conditions: [] }, because: 'there is no Ready' },
];

describe('the checker of written statuses', () => {
  it('lets a good one pass', () => {
    expect(writtenFlaws(object, good)).toEqual([]);
  });

  it.each(bad)('objects when $because', ({ status }) => {
    expect(writtenFlaws(object, status)).not.toEqual([]);
  });

  it('objects to a write that changes only a time', () => {
    const later = conditions.map((condition) => ({ ...condition, lastTransitionTime: '2026-01-01T00:01:00Z' }));

    expect(writtenFlaws({ ...object, status: good }, { ...good, conditions: later })).toEqual([
      'nothing but a time is new',
    ]);
  });
});
