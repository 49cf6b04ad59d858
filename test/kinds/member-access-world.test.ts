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

  it.each([
    ['GET', '/app-envs', { status: 503, text: '' }],
    ['GET', '/app-envs', { status: 200, text: '{"appEnvs": [{"appEnvId": "env_web_pr' }],
    ['GET', '/member/env-access', { status: 503, text: '' }],
    ['GET', '/member/env-access', { status: 200, text: '{}' }],
    ['GET', '/member/env-access', { status: 200, text: '{"membershipId": "mem_demo"}' }],
    ['PATCH', '/member/env-access', { status: 500, text: '' }],
  ])('sends no shorter list when %s %s fails in part (%j)', async (method, path, insteadOf) => {
    const world = await aWorld();
    const both = { ...spec, environments: [{ appEnvId: 'env_web_prod' }, { environmentRef: { name: 'web' } }] };
    world.apply('AppEnvironment', 'web', { appEnvId: 'env_web_staging' });
    world.apply('MemberAccess', 'm', both);
    await world.run(5_000);
    world.interference = (request) =>
      request.method === method && request.path.endsWith(path) ? { insteadOf } : undefined;
    world.apply('MemberAccess', 'm', { ...both, environments: [...both.environments, { appEnvId: 'env_db_prod' }] });
    await world.run(200_000);
    world.interference = () => undefined;
    await world.run(200_000);

    // A list that is left out means full access, as an empty one does: then the same restriction is sent again.
    const lists = (await commits(world)).map(({ detail }) => String(detail['allowedAppEnvIds']));
    expect([...new Set(lists)]).toEqual(['env_web_prod,env_web_staging', 'env_db_prod,env_web_prod,env_web_staging']);
  });

  it.each([
    ['an empty list', { ...spec, environments: [] }],
    ['no list', { ...spec, environments: undefined }],
    ['no word on access', { membershipId: 'mem_demo', environments: [] }],
    ['nothing at all', {}],
  ])('sends nothing for a spec with %s, should one get past the API server', async (_what, empty) => {
    const world = await aWorld();
    world.apply('MemberAccess', 'm', spec);
    await world.run(5_000);
    world.apply('MemberAccess', 'm', empty);
    await world.run(200_000);

    expect(conditionOf(world, 'MemberAccess', 'm')).toBe('False/InvalidSpec');
    expect(await writesSince(world, 0)).toEqual(['PATCH /member/env-access 200']);
  });

  it('sends nothing while it is deleted though a reference does not resolve any more', async () => {
    const world = await aWorld();
    world.apply('AppEnvironment', 'web', { appEnvId: 'env_web_prod' });
    world.apply('MemberAccess', 'm', { ...spec, environments: [{ environmentRef: { name: 'web' } }] });
    await world.run(5_000);
    world.delete('AppEnvironment', 'web');
    world.delete('MemberAccess', 'm');
    await world.run(70_000);

    expect(world.get('MemberAccess', 'm')).toBeUndefined();
    expect(await writesSince(world, 0)).toEqual(['PATCH /member/env-access 200']);
  });

  it('sends nothing when the token suddenly sees less, and when an environment is deleted', async () => {
    const world = await aWorld();
    world.apply('MemberAccess', 'm', {
      ...spec,
      environments: [{ appEnvId: 'env_web_prod' }, { appEnvId: 'env_web_staging' }],
    });
    await world.run(5_000);
    await world.control('PATCH', '/accounts/acc_demo', { memberEnvAccess: true });
    world.interference = ({ path }) =>
      path.endsWith('/app-envs') ? { insteadOf: { status: 200, text: '{"appEnvs": []}' } } : undefined;
    await world.run(200_000);
    world.interference = () => undefined;
    await world.control('DELETE', '/environments/env_web_staging');
    await world.run(200_000);

    expect(await writesSince(world, 0)).toEqual(['PATCH /member/env-access 200']);
  });

  it('stays as it is while the account switches the feature off and on', async () => {
    const world = await aWorld();
    await world.control('PATCH', '/accounts/acc_demo', { memberEnvAccess: true });
    world.apply('MemberAccess', 'm', spec);
    await world.run(5_000);
    for (const memberEnvAccess of [false, true]) {
      await world.control('PATCH', '/accounts/acc_demo', { memberEnvAccess });
      await world.run(130_000);
    }

    expect(conditionOf(world, 'MemberAccess', 'm')).toBe('True/InSync');
    expect(await writesSince(world, 0)).toEqual(['PATCH /member/env-access 200']);
  });
});
