import { describe, expect, it } from 'vitest';
import type { InProcess } from '../support/in-process.ts';
import { aWorld, commits, conditionOf, eventsOf, messageOf, statusOf, writesSince } from './support/world.ts';

/** A world in which the first installation meets something. */
async function installed(
  prepare: (world: InProcess) => Promise<unknown> | undefined,
  given: object = { solution: 'queue-worker', appName: 'jobs', region: 'eu-west' },
): Promise<InProcess> {
  const world = await aWorld();
  await prepare(world);
  world.apply('SolutionInstallation', 's', given);
  await world.run(60_000);
  return world;
}

async function installations(world: InProcess): Promise<number> {
  return (await commits(world)).filter(({ kind }) => kind === 'app.created').length;
}

describe('SolutionInstallation in a world', () => {
  it('continues under the same id when it failed half way', async () => {
    const world = await installed((each) =>
      each.control('POST', '/faults', {
        match: { method: 'POST', path: '/solutions' },
        effect: { failAfterComponents: 1 },
      }),
    );

    expect(conditionOf(world, 'SolutionInstallation', 's')).toBe('True/InSync');
    expect(await installations(world)).toBe(3);
    expect(statusOf(world, 'SolutionInstallation', 's')['components']).toHaveLength(3);
  });

  it.each(['details', 'top'])('finds the id of a failure in its %s', async (where) => {
    const world = await aWorld({ readings: { 'solution.errorId': where } });
    await world.control('POST', '/faults', {
      match: { method: 'POST', path: '/solutions' },
      effect: { failAfterComponents: 2 },
    });
    world.apply('SolutionInstallation', 's', { solution: 'queue-worker', appName: 'jobs', region: 'eu-west' });
    await world.run(60_000);

    expect(conditionOf(world, 'SolutionInstallation', 's')).toBe('True/InSync');
    expect(await installations(world)).toBe(3);
  });

  it('never installs a second time when the answer was lost, and says which apps may be its own', async () => {
    const world = await installed((each) => {
      each.interference = ({ method, path }) =>
        method === 'POST' && path.endsWith('/solutions') ? 'loseAnswer' : undefined;
      return undefined;
    });
    await world.run(600_000);

    expect(conditionOf(world, 'SolutionInstallation', 's')).toBe('False/InstallationIdUnknown');
    expect(await installations(world)).toBe(3);
    expect(messageOf(world, 'SolutionInstallation', 's')).toContain('app_');
  });

  it('goes on with the id that somebody puts into the spec after a lost answer', async () => {
    const world = await installed((each) => {
      each.interference = ({ method, path }) =>
        method === 'POST' && path.endsWith('/solutions') ? 'loseAnswer' : undefined;
      return undefined;
    });
    world.interference = () => undefined;
    const { items } = (await world.control('GET', '/ledger')) as { items: readonly { kind: string; id: string }[] };
    const installationId = items.find(({ kind }) => kind.startsWith('solution'))?.id;
    world.apply('SolutionInstallation', 's', {
      solution: 'queue-worker',
      appName: 'jobs',
      region: 'eu-west',
      installationId,
    });
    await world.run(60_000);

    expect(conditionOf(world, 'SolutionInstallation', 's')).toBe('True/InSync');
    expect(await installations(world)).toBe(3);
  });

  it('installs once more what was not installed, after the doubt has ended', async () => {
    let hit = false;
    const world = await installed((each) => {
      each.interference = ({ method, path }) => {
        if (hit || method !== 'POST' || !path.endsWith('/solutions')) return undefined;
        hit = true;
        return 'loseBefore';
      };
      return undefined;
    });
    const doubt = conditionOf(world, 'SolutionInstallation', 's');
    await world.run(300_000);

    expect(doubt).toBe('False/InDoubt');
    expect(conditionOf(world, 'SolutionInstallation', 's')).toBe('True/InSync');
    expect(await installations(world)).toBe(3);
  });

  it('is refused in a region that is not ready, without a trace', async () => {
    const world = await installed(() => undefined, {
      solution: 'sandbox-agent',
      appName: 'agent',
      region: 'ap-south',
      inputs: { agentAuthenticationMode: { value: 'PERSONAL_SUBSCRIPTION' } },
    });

    expect(conditionOf(world, 'SolutionInstallation', 's')).toBe('False/Rejected');
    expect(messageOf(world, 'SolutionInstallation', 's')).toContain('region ap-south is not ready');
    expect(await installations(world)).toBe(0);
  });

  it('is refused without the entitlement, and goes on when the account has it', async () => {
    const world = await installed(
      (each) => each.control('PATCH', '/accounts/acc_demo', { sandboxEntitlement: false }),
      {
        solution: 'sandbox-agent',
        appName: 'agent',
        region: 'eu-west',
        inputs: { agentAuthenticationMode: { value: 'PERSONAL_SUBSCRIPTION' } },
      },
    );
    const refused = messageOf(world, 'SolutionInstallation', 's');
    await world.control('PATCH', '/accounts/acc_demo', { sandboxEntitlement: true });
    await world.run(1_500_000);

    expect(refused).toContain('entitlement');
    expect(conditionOf(world, 'SolutionInstallation', 's')).toBe('True/InSync');
  });

  it('shows the note where people see it, and upgrades the agent in place', async () => {
    const given = {
      solution: 'sandbox-agent',
      appName: 'agent',
      region: 'eu-west',
      inputs: {
        agentAuthenticationMode: { value: 'PERSONAL_SUBSCRIPTION' },
        agentImage: { value: 'svc/sandbox-agent:1' },
      },
    };
    const world = await installed(() => undefined, given);
    const note = statusOf(world, 'SolutionInstallation', 's')['postInstallNote'];
    world.apply('SolutionInstallation', 's', {
      ...given,
      inputs: { ...given.inputs, agentImage: { value: 'svc/sandbox-agent:2' } },
    });
    await world.run(100_000);

    expect(note).toContain('Connect the agent');
    expect(eventsOf(world)).toContainEqual(expect.stringContaining('PostInstallNote Connect the agent'));
    expect((await commits(world)).filter(({ kind }) => kind === 'solution.upgraded')).toHaveLength(1);
    expect(conditionOf(world, 'SolutionInstallation', 's')).toBe('True/InSync');
  });

  it.each([
    ['solution.response', 'apps'],
    ['solution.response', 'flat'],
    ['solution.successId', 'absent'],
    ['lists.lagMs', 45_000],
  ])('is complete after one call when %s is %s', async (reading, value) => {
    const world = await aWorld({ readings: { [reading]: value } });
    world.apply('SolutionInstallation', 's', { solution: 'queue-worker', appName: 'jobs', region: 'eu-west' });
    await world.run(300_000);

    expect(conditionOf(world, 'SolutionInstallation', 's')).toBe('True/InSync');
    expect(await writesSince(world, 0)).toEqual(['POST /solutions 200']);
  });

  it('lets an AppEnvironment refer to a component, even without the id of the installation', async () => {
    const world = await aWorld({ readings: { 'solution.successId': 'absent' } });
    world.apply('AppEnvironment', 'api', { solutionRef: { name: 's' }, component: 'api' });
    world.apply('SolutionInstallation', 's', { solution: 'queue-worker', appName: 'jobs', region: 'eu-west' });
    await world.run(20_000);

    expect(conditionOf(world, 'AppEnvironment', 'api')).toBe('True/InSync');
  });
});
