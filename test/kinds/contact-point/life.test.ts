import { describe, expect, it } from 'vitest';
import type { InProcess } from '../../support/in-process.ts';
import { aWorld, conditionOf, contactPointByHand, messageOf, statusOf } from '../support/world.ts';

const mail = { email: { addresses: ['a@example.com'] } };

function statusWrites(world: InProcess, object: string): number {
  return world.kube.calls.filter(({ verb, name }) => verb === 'replaceStatus' && name === object).length;
}

async function urlOf(world: InProcess, name: string): Promise<unknown> {
  const { externalId: contactPointId } = statusOf(world, 'ContactPoint', name);
  const { body } = await world.request(
    'GET',
    `/contact-point?contactPointId=${String(contactPointId)}&showSecrets=true`,
  );
  return (body as { config: { url?: string } }).config.url;
}

describe('a contact point', () => {
  it.each([
    ['', 'the value is empty'],
    [' \n', 'the value is empty'],
    ['****', 'the value is masked'],
    ['https://hook.example.com/****', 'the value is masked'],
  ])(
    'is not said to be in sync with a Secret that becomes %j, for which the service keeps the old one',
    async (value, flaw) => {
      const world = await aWorld();
      world.secret('hook', { url: 'https://hook.example.com/one' });
      world.apply('ContactPoint', 'hook', {
        webhook: { url: { valueFrom: { secretKeyRef: { name: 'hook', key: 'url' } } } },
      });
      await world.run(30_000);
      const sent = world.sent.length;

      world.secret('hook', { url: value });
      await world.run(1_800_000);

      expect(conditionOf(world, 'ContactPoint', 'hook')).toBe('False/Rejected');
      expect(messageOf(world, 'ContactPoint', 'hook')).toContain(`spec.webhook.url: key "url" of Secret hook: ${flaw}`);
      expect(world.sent.slice(sent)).toEqual([]);

      world.secret('hook', { url: 'https://hook.example.com/two' });
      await world.run(30_000);

      expect([conditionOf(world, 'ContactPoint', 'hook'), await urlOf(world, 'hook')]).toEqual([
        'True/InSync',
        'https://hook.example.com/two',
      ]);
    },
  );

  it('takes one status write before its call and one after it, and no more before it is deployed to a region', async () => {
    const world = await aWorld();

    world.apply('ContactPoint', 'ops', mail);
    await world.run(600_000);

    expect(conditionOf(world, 'ContactPoint', 'ops', 'Propagated')).toBe('False/NotDeployedYet');
    expect(statusWrites(world, 'ops')).toBe(2);
  });

  it('no longer shows its regions when the service shows none', async () => {
    const world = await aWorld({ readings: { 'contactPoints.deploys': 'everywhere' } });
    world.apply('ContactPoint', 'ops', mail);
    await world.run(120_000);
    const before = conditionOf(world, 'ContactPoint', 'ops', 'Propagated');

    world.interference = ({ path }) =>
      path.endsWith('/contact-points')
        ? { retold: (text) => text.replaceAll(/"dashboardDeployments":\[[^\]]*\]/gu, '"dashboardDeployments":[]') }
        : undefined;
    await world.run(120_000);

    expect([before, conditionOf(world, 'ContactPoint', 'ops', 'Propagated')]).toEqual([
      'True/Propagated',
      'False/NotDeployedYet',
    ]);
    expect(statusOf(world, 'ContactPoint', 'ops')).not.toHaveProperty('deployments');
  });

  it('is not written anew when the service lists its regions in another order', async () => {
    const world = await aWorld({ readings: { 'contactPoints.deploys': 'everywhere' } });
    world.apply('ContactPoint', 'ops', mail);
    await world.run(120_000);
    let turn = 0;
    world.interference = ({ path }) =>
      path.endsWith('/contact-points')
        ? {
            retold: (text) => {
              turn += 1;
              const body = JSON.parse(text) as { contactPoints: { dashboardDeployments: unknown[] }[] };
              if (turn % 2 === 0) for (const point of body.contactPoints) point.dashboardDeployments.reverse();
              return JSON.stringify(body);
            },
          }
        : undefined;
    const before = statusWrites(world, 'ops');

    await world.run(1_800_000);

    expect(turn).toBeGreaterThan(10);
    expect((statusOf(world, 'ContactPoint', 'ops')['deployments'] as unknown[]).length).toBeGreaterThan(1);
    expect(statusWrites(world, 'ops') - before).toBe(0);
  });

  it('that its spec names and that is gone is made anew once the spec names it no longer', async () => {
    const world = await aWorld();
    const externalId = await contactPointByHand(world, 'ops');
    world.apply('ContactPoint', 'ops', { ...mail, externalId });
    await world.run(60_000);
    await world.request('DELETE', `/contact-point?contactPointId=${externalId}`);
    await world.run(300_000);
    const before = conditionOf(world, 'ContactPoint', 'ops');

    world.apply('ContactPoint', 'ops', mail);
    await world.run(60_000);

    expect([before, conditionOf(world, 'ContactPoint', 'ops')]).toEqual(['False/ObjectGone', 'True/InSync']);
    expect(statusOf(world, 'ContactPoint', 'ops')).toMatchObject({ internal: { ownership: 'Created' } });
  });

  it('keeps the answer to a request to look again when the request is taken back', async () => {
    const world = await aWorld();
    world.apply('ContactPoint', 'ops', mail, { 'apphosting.dev/reconcile-at': 'one' });
    await world.run(120_000);
    const before = statusWrites(world, 'ops');

    world.apply('ContactPoint', 'ops', mail);
    await world.run(120_000);

    expect(statusOf(world, 'ContactPoint', 'ops')['lastHandledReconcileAt']).toBe('one');
    expect(statusWrites(world, 'ops') - before).toBe(0);
  });
});

describe('a contact point that is only observed', () => {
  it('is not called synced while a rotated Secret would be sent, and is when it is the old one again', async () => {
    const world = await aWorld();
    world.secret('hook', { url: 'https://hook.example.com/one' });
    const spec = { webhook: { url: { valueFrom: { secretKeyRef: { name: 'hook', key: 'url' } } } } };
    world.apply('ContactPoint', 'hook', spec);
    await world.run(30_000);
    world.apply('ContactPoint', 'hook', { ...spec, lifecycle: { managementPolicy: 'Observe' } });
    await world.run(30_000);

    world.secret('hook', { url: 'https://hook.example.com/two' });
    await world.run(120_000);
    const rotated = conditionOf(world, 'ContactPoint', 'hook', 'Synced');
    world.secret('hook', { url: 'https://hook.example.com/one' });
    await world.run(120_000);

    expect([rotated, conditionOf(world, 'ContactPoint', 'hook', 'Synced')]).toEqual(['False/Observed', 'True/Synced']);
  });
});
