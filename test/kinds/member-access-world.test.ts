import { describe, expect, it } from 'vitest';
import { aWorld, commits, conditionOf, eventsOf, messageOf, statusOf, writesSince } from './support/world.ts';

describe('MemberAccess in a world', () => {
  const spec = { membershipId: 'mem_demo', access: 'Restricted', environments: [{ appEnvId: 'env_web_prod' }] };

  it('restricts once, shows it, and says nothing more', async () => {
    const world = await aWorld();
    world.apply('MemberAccess', 'm', spec);
    await world.run(200_000);

    expect(await writesSince(world, 0)).toEqual(['PATCH /member/env-access 200']);
    expect(statusOf(world, 'MemberAccess', 'm')).toMatchObject({ access: 'Restricted', appEnvIds: ['env_web_prod'] });
    expect(conditionOf(world, 'MemberAccess', 'm', 'Enforced')).toBe('Unknown/FeatureNotShown');
  });

  it('sees that somebody lifted the restriction, warns, and closes it within a poll', async () => {
    const world = await aWorld();
    world.apply('MemberAccess', 'm', spec);
    await world.run(5_000);
    await world.request('PATCH', '/member/env-access', {
      accountId: 'acc_demo',
      membershipId: 'mem_demo',
      allowedAppEnvIds: [],
    });
    await world.run(70_000);

    const lists = (await commits(world)).map(({ detail }) => detail['allowedAppEnvIds']);
    expect(lists).toEqual([['env_web_prod'], [], ['env_web_prod']]);
    expect(conditionOf(world, 'MemberAccess', 'm', 'AccessWiderThanSpec')).toBe('False/AsSpecified');
    expect(eventsOf(world)).toContainEqual(expect.stringContaining('Warning AccessWiderThanSpec'));
  });

  it('keeps what the service adds when the member creates an environment', async () => {
    const world = await aWorld();
    world.apply('MemberAccess', 'm', spec);
    await world.run(5_000);
    await world.control('POST', '/environments', {
      appEnvId: 'env_own',
      appId: 'app_web',
      name: 'own',
      region: 'eu-west',
      createdBy: 'demo-member',
    });
    await world.run(70_000);
    world.apply('MemberAccess', 'm', { ...spec, environments: [{ appEnvId: 'env_web_staging' }] });
    await world.run(10_000);

    const last = (await commits(world)).findLast(({ kind }) => kind === 'memberAccess.updated');
    expect(last?.detail['allowedAppEnvIds']).toEqual(['env_own', 'env_web_staging']);
    expect(statusOf(world, 'MemberAccess', 'm')['serviceAddedAppEnvIds']).toEqual(['env_own']);
  });

  it('stays restricted while it is paused, while its environment goes, and when it is deleted', async () => {
    const world = await aWorld();
    const referring = { ...spec, environments: [{ environmentRef: { name: 'web' } }] };
    world.apply('AppEnvironment', 'web', { appEnvId: 'env_web_prod' });
    world.apply('MemberAccess', 'm', referring);
    await world.run(5_000);
    world.apply(
      'MemberAccess',
      'm',
      { ...referring, access: 'Full', environments: undefined },
      {
        'apphosting.dev/paused': 'true',
      },
    );
    await world.run(70_000);
    world.apply('MemberAccess', 'm', referring);
    world.delete('AppEnvironment', 'web');
    await world.run(70_000);
    const reason = messageOf(world, 'MemberAccess', 'm');
    world.delete('MemberAccess', 'm');
    await world.run(70_000);

    expect(reason).toContain('AppEnvironment web');
    expect(world.get('MemberAccess', 'm')).toBeUndefined();
    expect((await commits(world)).map(({ detail }) => detail['allowedAppEnvIds'])).toEqual([['env_web_prod']]);
  });

  it('lifts the restriction at its end only when that was chosen', async () => {
    const world = await aWorld();
    world.apply('MemberAccess', 'm', { ...spec, lifecycle: { onDelete: 'GrantFullAccess' } });
    await world.run(5_000);
    world.delete('MemberAccess', 'm');
    await world.run(30_000);

    expect(world.get('MemberAccess', 'm')).toBeUndefined();
    expect((await commits(world)).map(({ detail }) => detail['allowedAppEnvIds'])).toEqual([['env_web_prod'], []]);
  });

  it('says that a membership does not exist, and sends nothing', async () => {
    const world = await aWorld();
    world.apply('MemberAccess', 'm', { ...spec, membershipId: 'mem_none' });
    await world.run(70_000);

    expect(conditionOf(world, 'MemberAccess', 'm')).toBe('False/NotFound');
    expect(await writesSince(world, 0)).toEqual([]);
  });

  it.each(['loseBefore', 'loseAnswer', 'hangBefore', 'hangAfter'] as const)(
    'ends restricted when the first answer is %s',
    async (disturbance) => {
      const world = await aWorld();
      let hit = false;
      world.interference = ({ method }) => {
        if (method !== 'PATCH' || hit) return undefined;
        hit = true;
        return disturbance;
      };
      world.apply('MemberAccess', 'm', spec);
      await world.run(120_000);

      expect(conditionOf(world, 'MemberAccess', 'm')).toBe('True/InSync');
      const lists = (await commits(world)).map(({ detail }) => detail['allowedAppEnvIds']);
      expect(lists).toEqual([['env_web_prod']]);
    },
  );
});
