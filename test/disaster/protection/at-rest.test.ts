/** What a protection costs while nothing happens: what moves by itself is neither written nor listed again. */
import { describe, expect, it } from 'vitest';
import type { InProcess } from '../../support/in-process.ts';
import { aProtectedWorld, disaster, protection, statusOf } from '../support.ts';

/** Counts the calls that list points from now on, pages and all. */
function listings(world: InProcess): () => number {
  let count = 0;
  world.interference = ({ path }) => {
    if (path === `${disaster}/points`) count += 1;
    return undefined;
  };
  return () => count;
}

describe('a protection at rest', () => {
  it('lists its points only when the configuration shows that there are others', async () => {
    const world = await aProtectedWorld({}, { snapshotIntervalSeconds: 86_400 });
    const { externalId: configurationId } = protection(world);
    await world.control('POST', `/configurations/${configurationId}/points`, { count: 1_000 });
    await world.run(120_000);
    const [newest] = protection(world).recoveryPoints;
    const listed = listings(world);
    await world.run(600_000);
    expect(listed()).toBe(0);
    const spec = world.get('DisasterProtection', 'orders')?.spec as object;
    world.apply('DisasterProtection', 'orders', spec, { 'apphosting.dev/reconcile-at': 'now' });
    await world.run(30_000);
    expect(listed()).toBeGreaterThan(0);

    await world.control('POST', `/configurations/${configurationId}/points`, { count: 1 });
    await world.run(90_000);
    expect(protection(world).recoveryPoints[0]).not.toEqual(newest);
    expect(protection(world).recoveryPoints).toHaveLength(30);
  });

  it('lists its points at the usual pace where the configuration shows nothing of them', async () => {
    const world = await aProtectedWorld({ readings: { 'dr.disclosed': 'minimal' } });
    const listed = listings(world);
    await world.run(600_000);

    expect(listed()).toBeGreaterThanOrEqual(5);
  });

  it('writes nothing because the service has looked at a clean-up once more', async () => {
    const world = await aProtectedWorld({}, { snapshotIntervalSeconds: 86_400 });
    const { externalId: configurationId } = protection(world);
    await world.control('PATCH', `/configurations/${configurationId}`, { hold: true });
    world.apply('RecoveryValidation', 'x', { protectionRef: { name: 'orders' } });
    await world.run(30_000);
    const looks = async (retentionPending: boolean) => {
      for (let count = 0; count < 10; count += 1) {
        const observedAt = new Date(world.clock.wall()).toISOString();
        await world.control('PATCH', `/configurations/${configurationId}`, {
          validationCleanup: { observedAt, retentionPending },
        });
        await world.run(5_000);
      }
    };
    const versions = () =>
      [world.get('RecoveryValidation', 'x'), world.get('DisasterProtection', 'orders')].map(
        (object) => object?.metadata.resourceVersion,
      );
    await looks(true);
    const before = versions();
    await looks(true);
    expect(versions()).toEqual(before);

    await looks(false);
    expect(statusOf(world, 'RecoveryValidation', 'x')['validationCleanup']).toMatchObject({ retentionPending: false });
  });
});
