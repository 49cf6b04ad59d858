import { describe, expect, it } from 'vitest';
import { aWorld, conditionOf, contactPointByHand, messageOf, statusOf } from '../../kinds/support/world.ts';

const hook = { chatB: { webhookUrl: { valueFrom: { secretKeyRef: { name: 'hook', key: 'url' } } } } };

describe('a field that the service cannot change, and that differs', () => {
  it.each([
    { lifecycle: { managementPolicy: 'Observe' }, reason: 'Observed' },
    { lifecycle: { drift: 'Report' }, reason: 'DriftReported' },
    { lifecycle: { drift: 'Report', managementPolicy: 'Observe' }, reason: 'Observed' },
    { lifecycle: { drift: 'Report' }, account: { lifecycle: { managementPolicy: 'Observe' } }, reason: 'Observed' },
    { account: { lifecycle: { managementPolicy: 'Observe' } }, reason: 'Observed' },
  ])('is drift like any other where drift is not corrected: %j', async ({ lifecycle, account = {}, reason }) => {
    const world = await aWorld();
    world.account(account);
    world.secret('hook', { url: 'https://hook.example.com/one' });
    const externalId = await contactPointByHand(world, 'theirs');

    world.apply('ContactPoint', 'theirs', { ...hook, externalId, ...(lifecycle && { lifecycle }) });
    await world.run(130_000);

    expect(conditionOf(world, 'ContactPoint', 'theirs')).toBe(`True/${reason}`);
    expect(conditionOf(world, 'ContactPoint', 'theirs', 'Synced')).toBe('False/Drifted');
    expect(conditionOf(world, 'ContactPoint', 'theirs', 'Stalled')).toBeUndefined();
    expect(statusOf(world, 'ContactPoint', 'theirs')['drift']).toMatchObject([{ field: 'type' }]);
    expect(world.sent.map(({ body: sent }) => sent).join()).not.toContain('"type"');
  });

  it('stalls where drift is corrected, and says which field it is', async () => {
    const world = await aWorld();
    world.secret('hook', { url: 'https://hook.example.com/one' });
    const externalId = await contactPointByHand(world, 'theirs');

    world.apply('ContactPoint', 'theirs', { ...hook, externalId });
    await world.run(130_000);

    expect(conditionOf(world, 'ContactPoint', 'theirs', 'Stalled')).toBe('True/Immutable');
    expect(messageOf(world, 'ContactPoint', 'theirs')).toMatch(/^the type of contact point \S+ differs from the spec/u);
  });
});
