import { beforeAll, describe, expect, it } from 'vitest';
import { Bench, type Row } from './support/edits/bench.ts';
import { allEdits } from './support/edits/index.ts';
import { otherTypes } from './support/edits/hosted-app.ts';
import { nodesOf } from './support/edits/nodes.ts';
import { without, type Edits, type Outcome } from './support/edits/table.ts';

/** The rows that reach the operator; what the API server refuses is tried on an API server. */
function rowsOf({ rows }: Edits): readonly Row[] {
  const reaches = (outcome: Outcome | undefined) => outcome !== undefined && outcome.is !== 'refused';
  return rows
    .filter(({ changed, removed }) => reaches(changed?.comes) || reaches(removed?.comes))
    .map((row, index) => ({ ...row, name: `row-${index}` }));
}

describe.each(allEdits)('each field of a $kind', (edits) => {
  const rows = rowsOf(edits);
  let bench: Bench;

  beforeAll(async () => {
    bench = await Bench.open(edits, rows);
  }, 240_000);

  it('is edited below, and left out where it may be', () => {
    const edited = new Set(edits.rows.filter(({ changed }) => changed !== undefined).map(({ field }) => field));
    const left = new Set(edits.rows.filter(({ removed }) => removed !== undefined).map(({ field }) => field));
    const nodes = nodesOf(edits.schema);

    expect(nodes.filter(({ isLeaf, path }) => isLeaf && !edited.has(path)).map(({ path }) => path)).toEqual([]);
    expect(nodes.filter(({ isOptional, path }) => isOptional && !left.has(path)).map(({ path }) => path)).toEqual([]);
    const known = new Set(nodes.map(({ path }) => path));
    expect(edits.rows.filter(({ field }) => !known.has(field))).toEqual([]);
  });

  it.each(rows)(
    'is sent as exactly what changed: $field ($name)',
    { timeout: 120_000 },
    async ({ name, field, before, changed, removed }) => {
      const start = bench.status(name)['observedGeneration'];
      if (changed !== undefined && changed.comes.is !== 'refused') {
        bench.apply(name, changed.to);
        await bench.comes(name, changed.comes);
        bench.apply(name, before);
        await bench.world.run(60_000);
      }
      if (removed !== undefined && removed.comes.is !== 'refused') {
        bench.apply(name, removed.to ?? without(before, field));
        await bench.comes(name, removed.comes);
        expect(bench.status(name)['leftover'] ?? []).toEqual(removed.leftover ?? []);
      }

      expect(bench.status(name)['observedGeneration']).not.toBe(start);
    },
  );

  it('leads to nothing more once all was said', async () => {
    await bench.comes(rows[0]?.name ?? '', { is: 'quiet', ready: 'True/InSync' });
  });
});

describe.each(otherTypes)('the fields of a HostedApp that is a $type', ({ edits }) => {
  const rows = rowsOf(edits);
  let bench: Bench;

  beforeAll(async () => {
    bench = await Bench.open(edits, rows);
  }, 240_000);

  it.each(rows)('are sent as exactly what changed: $field ($name)', { timeout: 120_000 }, async ({ name, changed }) => {
    if (changed === undefined || changed.comes.is === 'refused') throw new Error('nothing is to be sent');
    bench.apply(name, changed.to);
    await bench.comes(name, changed.comes);
  });
});
