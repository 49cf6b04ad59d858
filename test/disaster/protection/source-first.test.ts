/** What a protection says before there is one, and of its recovery points. */
import { describe, expect, it } from 'vitest';
import { InProcess } from '../../support/in-process.ts';
import { aProtectedWorld, aProtection, committed, conditionOf, protection, sentenceOf, statusOf } from '../support.ts';

const kind = 'DisasterProtection';

async function aWorld(spec: object, account: object = {}): Promise<InProcess> {
  const world = new InProcess();
  await world.start();
  world.account(account);
  await world.run(2_000);
  world.apply(kind, 'orders', spec);
  await world.run(20_000);
  return world;
}

interface Shown {
  readonly source?: {
    readonly unsupportedReasons?: readonly string[];
    readonly eligibleDestinations?: readonly string[];
    readonly appName?: string;
  };
  readonly truncated?: readonly { readonly field: string; readonly total: number }[];
  readonly recoveryPoints?: readonly { readonly cutoffTime: string }[];
}

describe('a protection that is not there yet', () => {
  it('shows its source and that nothing protects it while it is only observed', async () => {
    const world = await aWorld({ ...aProtection, lifecycle: { managementPolicy: 'Observe' } });

    expect(conditionOf(world, kind, 'orders', 'Ready')).toBe('True/Observed');
    expect(conditionOf(world, kind, 'orders', 'RecoveryReady')).toBe('False/NotProtected');
    expect(conditionOf(world, kind, 'orders', 'ActivationAvailable')).toBe('False/NotProtected');
    expect(statusOf<Shown>(world, kind, 'orders').source).toMatchObject({
      appName: 'orders-db',
      eligibleDestinations: ['us-east', 'eu-west'],
    });
  });

  it.each([
    [
      'a region that is not eligible',
      { destinationRegion: 'ap-south' },
      /ap-south is not eligible; the eligible regions are us-east, eu-west/,
    ],
    [
      'the region of the source',
      { destinationRegion: 'eu-west' },
      /is also the source's region: to accept this, add SameRegion to spec.acknowledgements, or set spec.destinationRegion to us-east/,
    ],
    [
      'no name for the new app that a database gets',
      { target: { environmentName: 'recovered' } },
      /env_db_prod runs POSTGRESQL, and a database .* set spec.target.environmentName and spec.target.appName/,
    ],
    [
      'no names at all for a database',
      { target: undefined },
      /env_db_prod runs POSTGRESQL, and a database .* set spec.target.environmentName and spec.target.appName/,
    ],
  ])('sends nothing where it asks for %s, and says what would be accepted', async (_because, more, words) => {
    const world = await aWorld({ ...aProtection, ...more });

    expect(conditionOf(world, kind, 'orders', 'Ready')).toBe('False/NotEligible');
    expect(sentenceOf(world, kind, 'orders')).toMatch(words);
    expect(conditionOf(world, kind, 'orders', 'RecoveryReady')).toBe('False/NotProtected');
    expect(statusOf<Shown>(world, kind, 'orders').source?.appName).toBe('orders-db');
    expect(world.sent.filter(({ path }) => path.endsWith('/configure'))).toEqual([]);

    world.apply(kind, 'orders', aProtection);
    await world.run(60_000);
    expect(await committed(world, 'configuration.created')).toBe(1);
  });

  it('names every reason why its environment cannot be protected', async () => {
    const world = await aWorld({ environmentRef: { externalId: 'env_job_prod' } });

    expect(conditionOf(world, kind, 'orders', 'Ready')).toBe('False/NotEligible');
    const words =
      /does not support the preset of the app \(presetUnsupported\); the environment has no persistent volume; .* \(noPersistentVolume\);/;
    expect(sentenceOf(world, kind, 'orders')).toMatch(words);
    expect(statusOf<Shown>(world, kind, 'orders').source?.unsupportedReasons?.join('; ').concat(';')).toMatch(words);
  });

  it('says what the service refuses by its place in the spec, also where the whole request is refused', async () => {
    const world = await aWorld(aProtection, {});
    const text = '{"error":"items[0].target.envName and snapshotIntervalMs are wrong"}';
    world.interference = ({ path }) => (path.endsWith('/configure') ? { insteadOf: { status: 400, text } } : undefined);
    world.apply(kind, 'orders', { ...aProtection, snapshotIntervalSeconds: 7_200 });
    await world.run(60_000);

    expect(sentenceOf(world, kind, 'orders')).toContain(
      'spec.target.environmentName and spec.snapshotIntervalSeconds are wrong',
    );
  });

  it('names every setting that would be refused at once', async () => {
    const world = await aWorld({ ...aProtection, destinationRegion: 'ap-south', target: undefined });

    expect(sentenceOf(world, kind, 'orders')).toMatch(
      /ap-south is not eligible.*; .*set spec\.target\.environmentName/,
    );
  });

  it('has its conditions from the first visit on, also while it waits for what it refers to', async () => {
    const world = await aWorld({ environmentRef: { name: 'missing' } });

    for (const type of ['RecoveryReady', 'ActivationAvailable', 'CleanupPending'])
      expect(conditionOf(world, kind, 'orders', type)).toBe('Unknown/ReferenceNotReady');
  });
});

describe('a protection that was just set up', () => {
  it('shows as soon as the lists do, where these lag 30 s and polls are rare', async () => {
    const world = new InProcess({ readings: { 'lists.lagMs': 30_000 } });
    await world.start();
    world.account({ pollSeconds: 3_600 });
    await world.run(2_000);
    world.apply(kind, 'orders', { ...aProtection, protectionMode: 'Warm' });
    await world.run(75_000);

    expect(conditionOf(world, kind, 'orders', 'RecoveryReady')).toBe('True/RecoveryReady');
    expect(conditionOf(world, kind, 'orders', 'ActivationAvailable')).toBe('True/ActivationPossible');
  });
});

describe('the recovery points of a protection', () => {
  it.each([60, 3_600])(
    'are shown within a minute of readiness when it is warm, with polls every %i s',
    async (pollSeconds) => {
      const world = await aWorld({ ...aProtection, protectionMode: 'Warm' }, { pollSeconds });
      let readySince = Number.POSITIVE_INFINITY;
      let deniedMs = 0;
      for (let passed = 0; passed < 4_000_000; passed += 1_000) {
        await world.run(1_000);
        if (conditionOf(world, kind, 'orders', 'RecoveryReady')?.startsWith('True') !== true) continue;
        readySince = Math.min(readySince, passed);
        if (conditionOf(world, kind, 'orders', 'ActivationAvailable') !== 'False/NoRecoveryPoint') break;
        deniedMs = passed - readySince;
      }

      expect(readySince).toBeLessThan(300_000);
      expect(deniedMs).toBeLessThanOrEqual(62_000);
    },
  );

  it('reach back as far as the service lists them, and status says how many there are', async () => {
    const world = await aProtectedWorld();
    await world.run(3 * 3_600_000);
    const { recoveryPoints = [], truncated } = statusOf<Shown>(world, kind, 'orders');
    const { externalId: configurationId } = protection(world);
    const path = `/disaster-readiness/points?accountId=acc_demo&configurationId=${configurationId}&limit=100`;
    const { body } = await world.request('GET', path);
    const listed = (body as { items: { cutoffAt: string }[] }).items.map(({ cutoffAt }) => cutoffAt).toSorted();

    expect(listed.length).toBeGreaterThan(30);
    expect(recoveryPoints.at(-1)?.cutoffTime).toBe(listed[0]);
    expect(recoveryPoints[0]?.cutoffTime).toBe(listed.at(-1));
    expect(truncated).toEqual([{ field: 'recoveryPoints', total: listed.length }]);
  });
});
