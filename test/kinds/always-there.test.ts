import { describe, expect, it } from 'vitest';
import { kinds } from '../../src/kinds/index.ts';
import { aWorld, conditionOf } from './support/world.ts';

const elsewhere = { accountRef: { name: 'nowhere' } };
const specs: Readonly<Record<string, object>> = {
  HostedApp: { port: 80, image: { reference: 'r/x:1' } },
  AppEnvironment: { externalId: 'env_web_prod' },
  ContactPoint: { email: { addresses: ['a@example.com'] } },
  MetricAlert: {
    environmentRef: { name: 'missing' },
    metric: 'cpu_percent',
    operator: 'GreaterThan',
    contactPointRefs: [{ name: 'missing' }],
  },
  SolutionInstallation: { solution: 'queue-worker', appName: 'jobs', region: 'eu-west' },
  MemberAccess: { externalId: 'mem_demo', access: 'Full' },
};
const rows = kinds.flatMap(({ kind, always = [] }) => always.map((type) => ({ kind, type })));

describe('a condition that belongs to a kind', () => {
  it('is listed below for each kind that has one', () => {
    expect(Object.keys(specs).filter((kind) => !rows.some((row) => row.kind === kind))).toEqual([]);
  });

  it.each(rows.filter(({ kind }) => kind in specs))(
    'is there from the first visit on, though nothing is known: $type of a $kind',
    async ({ kind, type }) => {
      const world = await aWorld();
      world.apply(kind, 'x', { ...specs[kind], ...elsewhere });
      await world.run(5_000);

      expect(conditionOf(world, kind, 'x', type)).toMatch(/^Unknown\/./u);
    },
  );

  it('is there while what the spec refers to is not', async () => {
    const world = await aWorld();
    world.apply('MetricAlert', 'x', specs['MetricAlert'] ?? {});
    await world.run(5_000);

    expect(conditionOf(world, 'MetricAlert', 'x', 'Firing')).toBe('Unknown/ReferenceNotReady');
  });
});
