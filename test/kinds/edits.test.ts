import { beforeAll, describe, expect, it } from 'vitest';
import { sameJson } from '../../src/base/json.ts';
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

/** Fields that mean the same when they are left out, or whose object keeps what was done for them: nothing is left over. */
const untold: ReadonlySet<string> = new Set([
  'AppEnvironment powerState',
  'AppEnvironment deploy.image',
  'AppEnvironment deploy.build.revision',
  'MetricAlert enabled',
]);

/** Kinds whose object is made by another request than it is changed by, and where the service shows it, by its id. */
const shownAt = new Map([
  ['HostedApp', '/app?appId='],
  ['ContactPoint', '/contact-point?contactPointId='],
  ['MetricAlert', '/alert?alertId='],
]);
const createdApart = allEdits.filter(({ kind }) => shownAt.has(kind));

/** What changes there by itself. */
const times = ['updatedAt', 'lastStateCheck'];

/** Fields whose absence is a wish too: it means the default, or that the image is used in place of the source. */
const defaulted: ReadonlySet<string> = new Set([
  'ContactPoint name',
  'HostedApp preset',
  'HostedApp source',
  ...['name', 'threshold', 'duration', 'aggregation', 'queryRange', 'enabled'].map((field) => `MetricAlert ${field}`),
]);

/** The calls for fields that no creation takes. */
const sentAfterCreation = ['PATCH /app', 'POST /alert/toggle'];

describe.each(createdApart)('each field of a $kind that is made with it', (edits) => {
  const rows = rowsOf(edits).filter(({ changed, field }) => changed?.comes.is === 'sent' && field !== 'externalId');
  let bench: Bench;

  beforeAll(async () => {
    bench = await Bench.open(edits, []);
  }, 60_000);

  it.each(rows)('is sent with it: $field (object $name)', { timeout: 60_000 }, async ({ name, changed }) => {
    if (changed?.comes.is !== 'sent') throw new Error('nothing is to be sent');

    const { missing, further } = await bench.creation(name, changed.to, {
      body: changed.comes.body,
      alsoPart: sentAfterCreation,
    });

    expect(missing, 'sent by `desired` and `requests.create` of the plan, and in the body in src/hosting/api?').toEqual(
      [],
    );
    expect(
      further,
      'sent once more: stored by the simulator when the object is made, and shown? In `observed` of the plan?',
    ).toEqual([]);
  });
});

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

    const withoutChange = nodes.filter(({ isLeaf, path }) => isLeaf && !edited.has(path)).map(({ path }) => path);
    const withoutRemoval = nodes
      .filter(({ isOptional, path }) => isOptional && !left.has(path))
      .map(({ path }) => path);
    const known = new Set(nodes.map(({ path }) => path));
    const unknown = edits.rows.filter(({ field }) => !known.has(field));

    const rowsStand = 'rows of the kind in test/kinds/support/edits';
    expect(withoutChange, `${rowsStand}: fields whose row has no \`changed\``).toEqual([]);
    expect(withoutRemoval, `${rowsStand}: optional fields whose row has no \`removed\``).toEqual([]);
    expect(unknown, `${rowsStand}: fields that the schema does not have`).toEqual([]);
  });

  it.each(rows)(
    'is sent as exactly what changed: $field (object $name)',
    { timeout: 120_000 },
    async ({ name, field, before, changed, removed }) => {
      const start = bench.status(name)['observedGeneration'];
      if (changed !== undefined && changed.comes.is !== 'refused') {
        bench.apply(name, changed.to);
        await bench.comes(name, changed.comes);
        bench.apply(name, before);
        await bench.world.run(20_000);
      }
      if (removed !== undefined && removed.comes.is !== 'refused') {
        bench.apply(name, removed.to ?? without(before, field));
        await bench.comes(name, removed.comes);
        const leftover = bench.status(name)['leftover'] ?? [];
        expect(leftover, 'in status.leftover: is the field `kept` in the plan?').toEqual(removed.leftover ?? []);
      }

      expect(bench.status(name)['observedGeneration']).not.toBe(start);
    },
  );

  it('is told as left over when it is taken out and the interface cannot take it back', () => {
    const silent = edits.rows
      .filter(({ changed, removed }) => changed?.comes.is === 'sent' && removed?.comes.is === 'quiet')
      .filter(
        ({ field, removed }) => field !== 'externalId' && removed?.to === undefined && removed?.leftover === undefined,
      )
      .map(({ field }) => `${edits.kind} ${field}`);

    // Settings of a protection are the service's own choice where they are left out.
    const forgotten = edits.kind === 'DisasterProtection' ? [] : silent.filter((field) => !untold.has(field));
    expect(forgotten, 'a field of `kept` in the plan, with `leftover` in its row?').toEqual([]);
  });

  it('leads to nothing more once all was said', async () => {
    await bench.comes(rows[0]?.name ?? '', { is: 'quiet', ready: 'True/InSync' });
  });
});

describe.each(createdApart)('each field of a $kind that a spec does not name', (edits) => {
  const own = ({ field }: Row) => field !== 'externalId' && !field.startsWith('lifecycle');
  const rows = rowsOf(edits).filter(
    (row) => row.removed !== undefined && own(row) && !defaulted.has(`${edits.kind} ${row.field}`),
  );
  let bench: Bench;

  beforeAll(async () => {
    bench = await Bench.open(edits, rows);
  }, 240_000);

  it.each(rows)(
    'stays as it is where an object is taken over: $field (object $name)',
    { timeout: 60_000 },
    async ({ name, field, before, removed }) => {
      const sent = await bench.takenOver(name, before, removed?.to ?? without(before, field));

      expect(sent, 'does `desired` of the plan clear only what the operator has sent before?').toEqual([]);
    },
  );
});

describe.each(createdApart)('each field of a $kind that somebody changes in the service', (edits) => {
  const rows = rowsOf(edits).filter(({ changed, field }) => changed?.comes.is === 'sent' && field !== 'externalId');
  let bench: Bench;

  beforeAll(async () => {
    bench = await Bench.open(edits, rows);
  }, 240_000);

  it('is as before again, if the service shows it', { timeout: 120_000 }, async () => {
    const shown = async () => Promise.all(rows.map(({ name }) => bench.shown(name, shownAt.get(edits.kind) ?? '')));
    const before = await shown();
    for (const { name, changed } of rows) {
      if (changed?.comes.is === 'sent') await bench.changeByHand(name, changed.comes);
    }
    const changed = await shown();
    await bench.world.run(150_000);
    const after = await shown();

    const differing = (now: readonly unknown[]) =>
      rows.filter((_row, at) => !sameJson(now[at], before[at], times)).map(({ field }) => field);
    expect(differing(changed)).not.toEqual([]);
    expect(differing(after), 'shown, so in `observed` of the plan, and not `hidden`?').toEqual([]);
  });
});

describe.each(otherTypes)('the fields of a HostedApp that is a $type', ({ edits }) => {
  const rows = rowsOf(edits);
  let bench: Bench;

  beforeAll(async () => {
    bench = await Bench.open(edits, rows);
  }, 240_000);

  it.each(rows)(
    'are sent as exactly what changed: $field (object $name)',
    { timeout: 120_000 },
    async ({ name, changed }) => {
      if (changed === undefined || changed.comes.is === 'refused') throw new Error('nothing is to be sent');
      bench.apply(name, changed.to);
      await bench.comes(name, changed.comes);
    },
  );
});
