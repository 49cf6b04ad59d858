import { describe, expect, it } from 'vitest';
import { atFirst } from '../../support/disturbed-wire.ts';
import type { InProcess } from '../../support/in-process.ts';
import { aWorld, commits, conditionOf, eventsOf, messageOf, statusOf, writesSince } from '../support/world.ts';

/** The list as the service holds it. */
async function reach(world: InProcess): Promise<readonly string[]> {
  const { body } = await world.request('GET', '/member/env-access?accountId=acc_demo&membershipId=mem_demo');
  return (body as { allowedAppEnvIds: readonly string[] }).allowedAppEnvIds.toSorted();
}

/** Every list that was committed. */
async function lists(world: InProcess): Promise<readonly unknown[]> {
  const made = await commits(world);
  return made.filter(({ kind }) => kind === 'memberAccess.updated').map(({ detail }) => detail['allowedAppEnvIds']);
}

describe('MemberAccess in a world', () => {
  const spec = { externalId: 'mem_demo', access: 'Restricted', environmentRefs: [{ externalId: 'env_web_prod' }] };

  it('restricts once, shows it, and says nothing more', async () => {
    const world = await aWorld();
    world.apply('MemberAccess', 'm', spec);
    await world.run(200_000);

    expect(await writesSince(world, 0)).toEqual(['PATCH /member/env-access 200']);
    expect(statusOf(world, 'MemberAccess', 'm')).toMatchObject({
      access: 'Restricted',
      environmentIds: ['env_web_prod'],
    });
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

  it('stays restricted while it is paused, while its environment goes, and when it is deleted', async () => {
    const world = await aWorld();
    const referring = { ...spec, environmentRefs: [{ name: 'web' }] };
    world.apply('AppEnvironment', 'web', { externalId: 'env_web_prod' });
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
    world.apply('MemberAccess', 'm', { ...spec, externalId: 'mem_none' });
    await world.run(70_000);

    expect(conditionOf(world, 'MemberAccess', 'm')).toBe('False/NotFound');
    expect(await writesSince(world, 0)).toEqual([]);
  });

  it.each(['loseBefore', 'loseAnswer', 'hangBefore', 'hangAfter'] as const)(
    'ends restricted when the first answer is %s',
    async (disturbance) => {
      const world = await aWorld();
      world.interference = atFirst('PATCH /member/env-access', disturbance);
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
    const both = { ...spec, environmentRefs: [{ externalId: 'env_web_prod' }, { name: 'web' }] };
    world.apply('AppEnvironment', 'web', { externalId: 'env_web_staging' });
    world.apply('MemberAccess', 'm', both);
    await world.run(5_000);
    world.interference = (request) =>
      request.method === method && request.path.endsWith(path) ? { insteadOf } : undefined;
    world.apply('MemberAccess', 'm', {
      ...both,
      environmentRefs: [...both.environmentRefs, { externalId: 'env_db_prod' }],
    });
    await world.run(200_000);
    world.interference = () => undefined;
    await world.run(305_000);

    // A list that is left out means full access, as an empty one does: then the same restriction is sent again.
    const lists = (await commits(world)).map(({ detail }) => String(detail['allowedAppEnvIds']));
    expect([...new Set(lists)]).toEqual(['env_web_prod,env_web_staging', 'env_db_prod,env_web_prod,env_web_staging']);
  });

  it.each([
    ['an empty list', { ...spec, environmentRefs: [] }],
    ['no list', { ...spec, environmentRefs: undefined }],
    ['no word on access', { externalId: 'mem_demo', environmentRefs: [] }],
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

  it('sends nothing when the token suddenly sees less, and when an environment is deleted', async () => {
    const world = await aWorld();
    world.apply('MemberAccess', 'm', {
      ...spec,
      environmentRefs: [{ externalId: 'env_web_prod' }, { externalId: 'env_web_staging' }],
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

describe('a MemberAccess that is edited while its call is in doubt', () => {
  it('ends with what the spec names and nothing else, when the call never arrived', async () => {
    const spec = { externalId: 'mem_demo', access: 'Restricted' };
    const on = (externalId: string) => ({ ...spec, environmentRefs: [{ externalId }] });
    const world = await aWorld();
    world.interference = atFirst('PATCH /member/env-access', 'loseBefore');
    world.apply('MemberAccess', 'm', on('env_web_prod'));
    for (let n = 0; n < 100 && world.sent.length === 0; n += 1) await world.run(100);
    world.apply('MemberAccess', 'm', on('env_web_staging'));
    await world.run(400_000);

    expect(await reach(world)).toEqual(['env_web_staging']);
    expect(conditionOf(world, 'MemberAccess', 'm')).toBe('True/InSync');
    expect(statusOf(world, 'MemberAccess', 'm')).not.toHaveProperty('serviceAddedEnvironmentIds');
  });
});

describe('a MemberAccess after another', () => {
  const both = {
    externalId: 'mem_demo',
    access: 'Restricted',
    environmentRefs: [{ externalId: 'env_web_prod' }, { externalId: 'env_web_staging' }],
  };
  const less = { ...both, environmentRefs: [{ externalId: 'env_web_prod' }] };

  it('learns nothing of one in another namespace but its name', async () => {
    const world = await aWorld();
    world.account({}, 'other');
    await world.run(5_000);
    world.apply('MemberAccess', 'theirs', both, {}, 'other');
    await world.run(5_000);
    world.apply('MemberAccess', 'ours', { ...both, environmentRefs: [{ externalId: 'env_fn_prod' }] });
    await world.run(30_000);

    expect(conditionOf(world, 'MemberAccess', 'ours')).toBe('False/Claimed');
    expect(messageOf(world, 'MemberAccess', 'ours')).toContain('MemberAccess other/theirs');
    const told = JSON.stringify([
      world.get('MemberAccess', 'ours')?.status,
      eventsOf(world).filter((event) => event.includes('team/ours')),
    ]);
    expect(told).not.toMatch(/env_web_(prod|staging)/);
  });

  it('is never open in between, though the one before it grants full access at its end', async () => {
    const world = await aWorld();
    world.apply('MemberAccess', 'old', { ...both, lifecycle: { onDelete: 'GrantFullAccess' } });
    await world.run(5_000);
    world.apply('MemberAccess', 'new', less);
    await world.run(5_000);
    world.delete('MemberAccess', 'old');
    await world.run(30_000);

    expect(await lists(world)).toEqual([['env_web_prod', 'env_web_staging'], ['env_web_prod']]);
    expect(eventsOf(world)).toContainEqual(expect.stringContaining('MemberAccess team/new manages the same member'));
  });

  it.each([
    [
      'pruned before it was applied',
      (world: InProcess) => {
        world.delete('MemberAccess', 'm');
        return world.run(5_000);
      },
    ],
    [
      'restored without a status',
      async (world: InProcess) => {
        world.kill();
        world.tamper('MemberAccess', 'm', () => ({}));
        await world.crash();
      },
    ],
  ])('says plainly what it keeps when it was %s', async (_how, lose) => {
    const world = await aWorld();
    world.apply('MemberAccess', 'm', both);
    await world.run(5_000);
    await lose(world);
    world.apply('MemberAccess', 'm', less);
    await world.run(70_000);
    const kept = statusOf(world, 'MemberAccess', 'm');
    const condition = conditionOf(world, 'MemberAccess', 'm', 'AddedByOthers');
    world.apply('MemberAccess', 'm', { ...less, onServiceAdd: 'Remove' });
    await world.run(10_000);

    expect(kept['serviceAddedEnvironmentIds']).toEqual(['env_web_staging']);
    expect(condition).toBe('True/AddedByOthers');
    expect(eventsOf(world).filter((event) => event.includes('Warning AddedByOthers'))).toHaveLength(1);
    expect(await reach(world)).toEqual(['env_web_prod']);
    expect(conditionOf(world, 'MemberAccess', 'm', 'AddedByOthers')).toBe('False/NothingAdded');
  });
});

describe('a MemberAccess whose reference changes', () => {
  const spec = { externalId: 'mem_demo', access: 'Restricted', environmentRefs: [{ name: 'web' }] };

  it('goes on by itself when the reference means the same environment again', async () => {
    const world = await aWorld();
    world.apply('AppEnvironment', 'web', { externalId: 'env_web_staging' });
    world.apply('MemberAccess', 'm', spec);
    await world.run(5_000);
    world.delete('AppEnvironment', 'web');
    await world.run(5_000);
    world.apply('AppEnvironment', 'web', { externalId: 'env_web_staging' });
    await world.run(30_000);

    expect(conditionOf(world, 'MemberAccess', 'm')).toBe('True/InSync');
    expect(await lists(world)).toEqual([['env_web_staging']]);
  });
});

describe('a MemberAccess beside what is gone', () => {
  it('is carried out though the list has an environment that the service does not know any more', async () => {
    const world = await aWorld();
    await world.control('POST', '/environments', {
      appEnvId: 'env_own',
      appId: 'app_web',
      name: 'own',
      region: 'eu-west',
    });
    await world.request('PATCH', '/member/env-access', {
      accountId: 'acc_demo',
      membershipId: 'mem_demo',
      allowedAppEnvIds: ['env_own'],
    });
    await world.control('DELETE', '/environments/env_own');
    world.apply('MemberAccess', 'm', {
      externalId: 'mem_demo',
      access: 'Restricted',
      environmentRefs: [{ externalId: 'env_web_prod' }],
    });
    await world.run(10_000);
    const said = messageOf(world, 'MemberAccess', 'm');
    await world.run(180_000);

    expect(said).toContain('the service does not list environment env_own');
    expect(await reach(world)).toEqual(['env_web_prod']);
    expect(conditionOf(world, 'MemberAccess', 'm')).toBe('True/InSync');
  });
});
