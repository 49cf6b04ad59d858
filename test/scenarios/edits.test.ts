import { describe, expect, it } from 'vitest';
import { kinds } from '../../src/kinds/index.ts';
import { allEdits } from '../kinds/support/edits/index.ts';
import { specOf, without, type Edit, type Outcome, type Spec } from '../kinds/support/edits/table.ts';
import { apiOf, freshNamespace, sharedKubernetes } from './support/kubernetes.ts';

/* What the rows of `kinds/edits.test.ts` take for granted: the API server accepts and refuses what they say. */

interface Change {
  readonly what: string;
  readonly from: Spec;
  readonly to: Spec;
  readonly comes: Outcome;
}

function changesOf({ field, before, changed, removed }: Edit): readonly Change[] {
  return [
    ...(changed === undefined ? [] : [{ what: `${field} changed`, from: before, ...changed }]),
    ...(removed === undefined
      ? []
      : [{ what: `${field} left out`, from: before, to: removed.to ?? without(before, field), comes: removed.comes }]),
  ];
}

describe('the API server', () => {
  it.each(allEdits)('judges every edit of a $kind as it is taken to', async (edits) => {
    const api = apiOf(sharedKubernetes());
    const namespace = await freshNamespace(api);
    const { plural } = kinds.find(({ kind }) => kind === edits.kind) ?? { plural: '' };
    const collection = `/apis/apphosting.dev/v1alpha1/namespaces/${namespace}/${plural}`;

    const judged = await Promise.all(
      edits.rows.flatMap(changesOf).map(async ({ what, from, to, comes }, index) => {
        const metadata = { name: `e-${index}` };
        const object = { apiVersion: 'apphosting.dev/v1alpha1', kind: edits.kind, metadata, spec: specOf(edits, from) };
        const made = await api.post(`${collection}?fieldValidation=Strict`, object);
        const replaced = [{ op: 'replace', path: '/spec', value: specOf(edits, to) }];
        const path = `${collection}/${metadata.name}?dryRun=All&fieldValidation=Strict`;
        const answer = await api.patch(path, replaced, 'application/json-patch+json');
        const says = String((answer.body as { message?: unknown }).message);
        const isAsTaken =
          comes.is === 'refused' ? answer.status === 422 && says.includes(comes.says) : answer.status === 200;
        return made.status === 201 && isAsTaken ? [] : [`${what}: ${made.status}, then ${answer.status} ${says}`];
      }),
    );

    expect(judged.flat()).toEqual([]);
    expect(judged.length).toBeGreaterThan(10);
  });
});
