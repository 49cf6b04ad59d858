import { describe, expect, it } from 'vitest';
import { atFirst } from '../../support/disturbed-wire.ts';
import { InProcess } from '../../support/in-process.ts';
import {
  aWorld,
  commits,
  conditionOf,
  environmentOf,
  eventsOf,
  messageOf,
  statusOf,
  writesSince,
} from '../support/world.ts';

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

const queue = { solution: 'queue-worker', appName: 'jobs', region: 'eu-west' };
const agent = (agentImage: string) => ({
  solution: 'sandbox-agent',
  appName: 'agent',
  region: 'eu-west',
  inputs: [
    { name: 'agentAuthenticationMode', value: 'PERSONAL_SUBSCRIPTION' },
    { name: 'agentImage', value: agentImage },
  ],
});

async function appNamed(world: InProcess, appId: string): Promise<unknown> {
  const { body } = await world.request('GET', '/apps?accountId=acc_demo');
  return (body as { apps: readonly { appId: string; name: string }[] }).apps.find((app) => app.appId === appId)?.name;
}

async function upgrades(world: InProcess): Promise<readonly unknown[]> {
  const made = await commits(world);
  return made.filter(({ kind }) => kind === 'solution.upgraded').map(({ detail }) => detail['agentImage']);
}

async function installations(world: InProcess): Promise<number> {
  return (await commits(world)).filter(({ kind }) => kind === 'app.created').length;
}

describe('SolutionInstallation in a world', () => {
  it.each([
    { key: 'hunter2-hunter2\n', because: 'with a line end in its Secret' },
    { key: '-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEF\n-----END KEY-----\n', because: 'of several lines' },
  ])('shows no note where an input was a secret, $because', async ({ key }) => {
    const notes = [`your key is ${key}, see https://x.example`, `${'x'.repeat(1_985)} ${key}`, `is ${btoa(key)}`];
    for (const postInstallNote of notes) {
      const world = await installed(
        async (each) => {
          each.secret('given', { key });
          each.interference = ({ path, method }) =>
            path.endsWith('/solutions') && method === 'POST'
              ? { retold: (text) => JSON.stringify({ ...(JSON.parse(text) as object), postInstallNote }) }
              : undefined;
        },
        { ...queue, inputs: [{ name: 'apiKey', valueFrom: { secretKeyRef: { name: 'given', key: 'key' } } }] },
      );
      const written = JSON.stringify([
        world.get('SolutionInstallation', 's')?.status,
        eventsOf(world),
        world.trace.lines,
      ]);

      expect(conditionOf(world, 'SolutionInstallation', 's')).toBe('True/InSync');
      expect(statusOf(world, 'SolutionInstallation', 's')['postInstallNote']).toBeUndefined();
      expect(conditionOf(world, 'SolutionInstallation', 's', 'PostInstallPending')).toBe('Unknown/NotDisclosed');
      for (const trace of ['hunter', 'MIIE', 'ADANBgk', btoa(key).slice(0, 12)]) expect(written).not.toContain(trace);
      expect(written).not.toContain('x.example');
    }
  });

  it.each(['details', 'top'])(
    'continues under the same id when it failed half way, with the id in its %s',
    async (where) => {
      const world = await aWorld({ readings: { 'solution.errorId': where } });
      await world.control('POST', '/faults', {
        match: { method: 'POST', path: '/solutions' },
        effect: { failAfterComponents: 2 },
      });
      world.apply('SolutionInstallation', 's', { solution: 'queue-worker', appName: 'jobs', region: 'eu-west' });
      await world.run(60_000);

      expect(conditionOf(world, 'SolutionInstallation', 's')).toBe('True/InSync');
      expect(await installations(world)).toBe(3);
    },
  );

  it('takes what shows for its own, and sends nothing more, when only the lost call explains it', async () => {
    const world = await installed((each) => {
      each.interference = atFirst('POST /solutions', 'loseAnswer');
      return undefined;
    });
    const during = conditionOf(world, 'SolutionInstallation', 's');
    await world.crash();
    await world.run(600_000);

    expect(during).toBe('False/InDoubt');
    expect(conditionOf(world, 'SolutionInstallation', 's')).toBe('True/Presumed');
    expect(messageOf(world, 'SolutionInstallation', 's')).toMatch(/queue \(app_\w+\), .*spec\.externalId/);
    expect(conditionOf(world, 'SolutionInstallation', 's', 'PostInstallPending')).toBe('Unknown/Presumed');
    expect(statusOf(world, 'SolutionInstallation', 's')).toMatchObject({
      componentsRunning: '3/3',
      internal: { ownership: 'Presumed' },
    });
    expect(await writesSince(world, 0)).toEqual(['POST /solutions 200']);
  });

  it.each<{ because: string; meanwhile: (world: InProcess) => Promise<unknown> | undefined }>([
    {
      because: 'somebody made an app that is called like a component',
      meanwhile: (world) => world.request('POST', '/app', { accountId: 'acc_demo', name: 'jobs-api', port: 80 }),
    },
    {
      because: 'somebody gave a component to another resource',
      meanwhile: async (world) => {
        const { body } = await world.request('GET', '/apps?accountId=acc_demo');
        const { apps } = body as { apps: readonly { appId: string; name: string }[] };
        const externalId = apps.find(({ name }) => name === 'jobs-api')?.appId;
        world.apply('HostedApp', 'api', { name: 'jobs-api', port: 80, externalId });
      },
    },
    {
      because: 'the spec has changed',
      meanwhile: (world) => void world.apply('SolutionInstallation', 's', { ...queue, region: 'us-east' }),
    },
  ])('never installs a second time and names the apps, when the answer was lost and $because', async (given) => {
    const world = await installed((each) => {
      each.interference = atFirst('POST /solutions', 'loseAnswer');
      return undefined;
    });
    await given.meanwhile(world);
    await world.run(600_000);

    expect(conditionOf(world, 'SolutionInstallation', 's')).toBe('False/InstallationIdUnknown');
    expect((await commits(world)).filter(({ kind }) => kind === 'solution.created')).toHaveLength(1);
    expect(messageOf(world, 'SolutionInstallation', 's')).toContain('app_');
  });

  it('does not take a part of it for the whole when the answer was lost', async () => {
    const world = await installed(async (each) => {
      await each.control('POST', '/faults', {
        match: { method: 'POST', path: '/solutions' },
        effect: { failAfterComponents: 2 },
      });
      each.interference = atFirst('POST /solutions', 'loseAnswer');
    });
    await world.run(600_000);

    expect(conditionOf(world, 'SolutionInstallation', 's')).toBe('False/InstallationIdUnknown');
    expect(await installations(world)).toBe(2);
  });

  it('goes on with the id that somebody puts into the spec after a lost answer', async () => {
    const world = await installed((each) => {
      each.interference = atFirst('POST /solutions', 'loseAnswer', Number.POSITIVE_INFINITY);
      return undefined;
    });
    world.interference = () => undefined;
    const { items } = (await world.control('GET', '/ledger')) as { items: readonly { kind: string; id: string }[] };
    const installationId = items.find(({ kind }) => kind.startsWith('solution'))?.id;
    world.apply('SolutionInstallation', 's', {
      solution: 'queue-worker',
      appName: 'jobs',
      region: 'eu-west',
      externalId: installationId,
    });
    await world.run(60_000);

    expect(conditionOf(world, 'SolutionInstallation', 's')).toBe('True/InSync');
    expect(await installations(world)).toBe(3);
  });

  it('is refused without the entitlement, and goes on when the account has it', async () => {
    const world = await installed(
      (each) => each.control('PATCH', '/accounts/acc_demo', { sandboxEntitlement: false }),
      {
        solution: 'sandbox-agent',
        appName: 'agent',
        region: 'eu-west',
        inputs: [{ name: 'agentAuthenticationMode', value: 'PERSONAL_SUBSCRIPTION' }],
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
      inputs: [
        { name: 'agentAuthenticationMode', value: 'PERSONAL_SUBSCRIPTION' },
        { name: 'agentImage', value: 'svc/sandbox-agent:1' },
      ],
    };
    const world = await installed(() => undefined, given);
    const note = statusOf(world, 'SolutionInstallation', 's')['postInstallNote'];
    world.apply('SolutionInstallation', 's', {
      ...given,
      inputs: [given.inputs[0], { name: 'agentImage', value: 'svc/sandbox-agent:2' }],
    });
    await world.run(100_000);

    expect(note).toContain('Connect the agent');
    expect(conditionOf(world, 'SolutionInstallation', 's', 'PostInstallPending')).toBe('True/ToBeDoneByYou');
    expect(statusOf(world, 'SolutionInstallation', 's')['componentsRunning']).toMatch(/^(\d)\/\1$/u);
    expect(eventsOf(world)).toContainEqual(expect.stringContaining('PostInstallNote Connect the agent'));
    expect((await commits(world)).filter(({ kind }) => kind === 'solution.upgraded')).toHaveLength(1);
    expect(conditionOf(world, 'SolutionInstallation', 's')).toBe('True/InSync');

    const { spec } = world.get('SolutionInstallation', 's') ?? {};
    world.apply('SolutionInstallation', 's', spec as object, { 'apphosting.dev/post-install-done': 'true' });
    await world.run(10_000);

    expect(conditionOf(world, 'SolutionInstallation', 's', 'PostInstallPending')).toBe('False/NothingToDo');
    expect(messageOf(world, 'SolutionInstallation', 's')).toBe('sandbox-agent is installed');
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

  it.each([
    ['solution.response', 'flat'],
    ['solution.response', 'apps'],
    ['solution.successId', 'absent'],
  ])('lets an AppEnvironment refer to a component when %s is %s', async (reading, value) => {
    const world = await aWorld({ readings: { [reading]: value, 'lists.order': 'shuffled' } });
    world.apply('AppEnvironment', 'api', { solutionRef: { name: 's' }, component: 'api' });
    world.apply('SolutionInstallation', 's', queue);
    await world.run(200_000);

    expect(conditionOf(world, 'AppEnvironment', 'api')).toBe('True/InSync');
    const { appId } = await environmentOf(world, String(statusOf(world, 'AppEnvironment', 'api')['externalId']));
    expect(await appNamed(world, String(appId))).toBe('jobs-api');
  });
});

describe('SolutionInstallation whose status is lost', () => {
  it.each([
    ['deleted and applied again', (world: InProcess) => world.delete('SolutionInstallation', 's')],
    ['restored without a status', (world: InProcess) => world.tamper('SolutionInstallation', 's', () => ({}))],
  ])('installs nothing a second time when it is %s', async (_how, lose) => {
    const world = await installed(() => undefined);
    lose(world);
    await world.crash();
    world.apply('SolutionInstallation', 's', { ...queue, lifecycle: { onMissing: 'Stall' } });
    await world.run(600_000);

    expect(conditionOf(world, 'SolutionInstallation', 's')).toBe('False/AlreadyExists');
    expect(messageOf(world, 'SolutionInstallation', 's')).toContain('"jobs-queue"');
    expect(await installations(world)).toBe(3);
  });

  it('is told what it leaves, and takes that up again by its id', async () => {
    const world = await installed(() => undefined);
    world.delete('SolutionInstallation', 's');
    await world.run(5_000);
    const told = eventsOf(world).find((event) => event.startsWith('Warning Retained'));
    const [, installationId] = /spec\.externalId: (\S+)/.exec(told ?? '') ?? [];
    world.apply('SolutionInstallation', 's', { ...queue, externalId: installationId });
    await world.run(60_000);

    expect(told).toContain('stays in the service');
    expect(conditionOf(world, 'SolutionInstallation', 's')).toBe('True/InSync');
    expect(statusOf(world, 'SolutionInstallation', 's')['components']).toHaveLength(3);
    expect(await installations(world)).toBe(3);
  });

  it('is told what it leaves by the replica that acts alone', async () => {
    const world = await installed(() => undefined);
    const standby = new InProcess({ beside: world, seed: 2 });
    standby.leadership.why = 'this process is not the leader';
    await standby.start();
    await world.run(5_000);

    world.delete('SolutionInstallation', 's');
    await world.run(5_000);

    const told = (trace: readonly string[]) => trace.filter((line) => line.includes('stays in the service')).length;
    expect([told(world.trace.lines), told(standby.trace.lines)]).toEqual([1, 0]);
    expect(eventsOf(world).filter((event) => event.startsWith('Warning Retained'))).toHaveLength(1);
  });

  it('says of a lost call that what it may have made stays', async () => {
    const world = await installed((each) => {
      each.interference = atFirst('POST /solutions', 'hangBefore');
      return undefined;
    });
    world.delete('SolutionInstallation', 's');
    await world.run(5_000);

    expect(eventsOf(world)).toContainEqual(
      expect.stringContaining('the outcome of the installation of "jobs" is not known'),
    );
  });

  it('names the installation whose answer came when the resource was gone', async () => {
    const world = await aWorld();
    world.interference = ({ method, path }) => {
      if (method === 'POST' && path.endsWith('/solutions')) world.delete('SolutionInstallation', 's');
      return undefined;
    };
    world.apply('SolutionInstallation', 's', queue);
    await world.run(60_000);

    expect(eventsOf(world)).toContainEqual(expect.stringMatching(/Warning Retained installation inst_\S+ .*stays/));
  });
});

describe('SolutionInstallation beside others', () => {
  it('says that the installation which the spec names is not known, and goes on when the id is put right', async () => {
    const world = await installed(() => undefined);
    const { externalId: installationId } = statusOf(world, 'SolutionInstallation', 's');
    world.delete('SolutionInstallation', 's');
    world.apply('SolutionInstallation', 't', { ...queue, externalId: 'inst_mistyped' });
    await world.run(60_000);
    const mistyped = messageOf(world, 'SolutionInstallation', 't');
    const sent = (await writesSince(world, 0)).length;
    world.apply('SolutionInstallation', 't', { ...queue, externalId: installationId });
    await world.run(60_000);

    expect(mistyped).toContain('with installation id inst_mistyped');
    expect(sent).toBe(2);
    expect(conditionOf(world, 'SolutionInstallation', 't')).toBe('True/InSync');
    expect(await installations(world)).toBe(3);
  });
});

describe('a component of a SolutionInstallation', () => {
  it('that one list in two leaves out is not gone, as long as another one is missing meanwhile', async () => {
    const world = await installed(() => undefined);
    const { components } = statusOf(world, 'SolutionInstallation', 's');
    const ids = (components as readonly { environmentId: string }[]).map(({ environmentId }) => environmentId);
    let lists = 0;
    world.interference = ({ method, path }) => {
      if (method !== 'GET' || !path.endsWith('/app-envs')) return undefined;
      const hidden = ids[(lists += 1) % 2] ?? '';
      return { retold: (text) => text.replaceAll(`"${hidden}"`, `"${hidden}x"`) };
    };
    const seen = new Set<string>();
    for (let n = 0; n < 40; n += 1) {
      await world.run(10_000);
      seen.add(conditionOf(world, 'SolutionInstallation', 's') ?? '');
    }

    expect(lists).toBeGreaterThan(4);
    expect([...seen].filter((one) => one.includes('ObjectGone'))).toEqual([]);
    expect([...seen]).toContain('False/ObjectMissing');
  });

  it('that is still on its way keeps it from being Ready', async () => {
    const world = await aWorld({ readings: { 'deploy.ms': 20_000 } });
    world.apply('SolutionInstallation', 's', queue);
    await world.run(10_000);
    const early = conditionOf(world, 'SolutionInstallation', 's');
    await world.run(120_000);

    expect(early).toBe('False/Updating');
    expect(conditionOf(world, 'SolutionInstallation', 's')).toBe('True/InSync');
  });
});

describe('an upgrade of a SolutionInstallation', () => {
  it.each(['loseBefore', 'loseAnswer', 'hangAfter', { lateMs: 100_000 }] as const)(
    'runs what the spec says in the end when it is taken back while its answer is lost: %j',
    async (disturbance) => {
      const world = await installed(() => undefined, agent('svc/sandbox-agent:1'));
      world.interference = atFirst('POST /solutions', disturbance);
      world.apply('SolutionInstallation', 's', agent('svc/sandbox-agent:2'));
      await world.run(40_000);
      const doubt = conditionOf(world, 'SolutionInstallation', 's');
      world.apply('SolutionInstallation', 's', agent('svc/sandbox-agent:1'));
      await world.run(300_000);

      expect(doubt).toBe('False/InDoubt');
      expect((await upgrades(world)).at(-1)).toBe('svc/sandbox-agent:1');
      expect(conditionOf(world, 'SolutionInstallation', 's')).toBe('True/InSync');
    },
  );

  it('is sent twice at most while every answer is lost, and another one is sent when the spec is edited', async () => {
    const world = await installed(() => undefined, agent('svc/sandbox-agent:1'));
    world.interference = atFirst('POST /solutions', 'loseAnswer', Number.POSITIVE_INFINITY);
    world.apply('SolutionInstallation', 's', agent('svc/sandbox-agent:2'));
    await world.run(1_000_000);
    const given = conditionOf(world, 'SolutionInstallation', 's');
    await world.crash(200_000);
    await world.run(1_000_000);
    const later = [conditionOf(world, 'SolutionInstallation', 's'), await upgrades(world)];
    world.interference = () => undefined;
    world.apply('SolutionInstallation', 's', agent('svc/sandbox-agent:1'));
    await world.run(60_000);

    expect(given).toBe('False/UpgradeInDoubt');
    expect(later).toEqual(['False/UpgradeInDoubt', ['svc/sandbox-agent:2', 'svc/sandbox-agent:2']]);
    expect((await upgrades(world)).slice(2)).toEqual(['svc/sandbox-agent:1']);
    expect(conditionOf(world, 'SolutionInstallation', 's')).toBe('True/InSync');
  });

  it.each([400, 403, 409, 422])(
    'is not tried over and over, and can be taken back, when a rule says no with %s',
    async (status) => {
      const world = await aWorld({ readings: { 'rejection.status': status } });
      world.apply('SolutionInstallation', 's', agent('svc/sandbox-agent:1'));
      await world.run(60_000);
      await world.control('PATCH', '/accounts/acc_demo', { sandboxEntitlement: false });
      const before = (await writesSince(world, 0)).length;
      world.apply('SolutionInstallation', 's', agent('svc/sandbox-agent:2'));
      await world.run(500_000);
      const refused = conditionOf(world, 'SolutionInstallation', 's');
      const tried = (await writesSince(world, 0)).length - before;
      world.apply('SolutionInstallation', 's', agent('svc/sandbox-agent:1'));
      await world.run(60_000);

      expect(refused).toBe(status === 403 ? 'False/Forbidden' : 'False/Rejected');
      expect(tried).toBe(1);
      expect(await upgrades(world)).toEqual([]);
      expect(conditionOf(world, 'SolutionInstallation', 's')).toBe('True/InSync');
    },
  );
});

describe('the id that comes with a failure of a SolutionInstallation', () => {
  const halfway = (world: InProcess, count = 1) =>
    world.control('POST', '/faults', {
      match: { method: 'POST', path: '/solutions', count },
      effect: { failAfterComponents: 1 },
    });

  it.each([
    ['is refused as not valid until it is given up', { effect: 'before', outcome: 'invalid', times: 5 }],
    ['meets a conflict', { effect: 'before', outcome: 'conflict' }],
    ['is not answered', { effect: 'after', outcome: 'timeout' }],
    ['cannot be made', { effect: 'before', outcome: 'unavailable' }],
  ] as const)('is kept when the write of it %s', async (_what, fault) => {
    const world = await aWorld();
    await halfway(world);
    // The first write of status is the journal, the second carries the id.
    world.kube.inject({ verb: 'replaceStatus', plural: 'solutioninstallations', after: 1, ...fault });
    world.apply('SolutionInstallation', 's', queue);
    await world.run(120_000);

    expect(conditionOf(world, 'SolutionInstallation', 's')).toBe('True/InSync');
    expect(await installations(world)).toBe(3);
  });

  it('is there when the process dies right after it was written', async () => {
    const world = await aWorld();
    await halfway(world, 2);
    world.apply('SolutionInstallation', 's', queue);
    await world.run(1_000);
    const written = statusOf(world, 'SolutionInstallation', 's');
    await world.crash(120_000);
    await world.run(200_000);

    expect(written).toMatchObject({ complete: false, externalId: expect.any(String) as string });
    expect(conditionOf(world, 'SolutionInstallation', 's')).toBe('True/InSync');
    expect(await installations(world)).toBe(3);
  });
});
