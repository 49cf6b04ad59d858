import { describe, expect, it } from 'vitest';
import { solutionInstallation } from '../../src/kinds/solution-installation.ts';
import type { Facts } from '../../src/kinds/schema/solution-installation.ts';
import type { Memory } from '../../src/engine/kind/step.ts';
import {
  appEnvsOf,
  appOf,
  appsOf,
  solutionsOf,
  type AppEnvItem,
  type AppItem,
  type SolutionItem,
} from '../../src/hosting/requests.ts';
import type { InProcess } from '../support/in-process.ts';
import { callIn, inShort, print, settledStep, shows, type PassOptions, type Shown } from './support/pass.ts';
import { aWorld, commits, conditionOf, eventsOf, messageOf, statusOf, writesSince } from './support/world.ts';

const catalogue = shows(solutionsOf('acc_1'), [
  { solutionSlug: 'queue-worker', requiredInputs: [], components: [] },
  { solutionSlug: 'agent', requiredInputs: ['llmProviderKeyId', 'agentPrimaryModel'], components: [] },
] as unknown as readonly SolutionItem[]);

function apps(...names: readonly string[]): Shown {
  return shows(
    appsOf('acc_1'),
    names.map((name) => ({ appId: `app_${name}`, name, createdAtMs: 1_767_225_600_000 }) as AppItem),
  );
}

const calm = [catalogue, apps('worker-api'), shows(appEnvsOf('acc_1'), [] as AppEnvItem[])];
const spec = { solution: 'queue-worker', appName: 'worker', region: 'eu-west' };

/** What is remembered of a complete installation. */
function complete(fields: Readonly<Record<string, string>>, more: Partial<Memory<Facts>> = {}): Partial<Memory<Facts>> {
  const prints = Object.fromEntries(Object.entries(fields).map(([field, value]) => [field, print(value)]));
  return {
    id: 'inst_1',
    ownership: 'Created',
    applied: { generation: 1, prints },
    facts: { complete: true, components: [{ name: 'api', appId: 'app_worker-api', appEnvId: 'env_1' }] },
    ...more,
  };
}

const asApplied = { appName: 'worker', region: 'eu-west' };
const body = (more: object = {}) =>
  JSON.stringify({ accountId: 'acc_1', solutionSlug: 'queue-worker', appName: 'worker', region: 'eu-west', ...more });

const rows: readonly (PassOptions<Facts> & { because: string; comesTo: string })[] = [
  { because: 'it is new', spec, comesTo: `POST /solutions ${body()}` },
  {
    because: 'the catalogue has no such solution',
    spec: { ...spec, solution: 'que-worker' },
    comesTo: 'stall UnknownSolution',
  },
  { because: 'an input is missing', spec: { ...spec, solution: 'agent' }, comesTo: 'stall InvalidSpec' },
  {
    because: 'a personal subscription needs none of the inputs of a key',
    spec: { ...spec, solution: 'agent', inputs: { agentAuthenticationMode: { value: 'PERSONAL_SUBSCRIPTION' } } },
    comesTo: `POST /solutions ${JSON.stringify({
      accountId: 'acc_1',
      solutionSlug: 'agent',
      appName: 'worker',
      region: 'eu-west',
      inputs: { agentAuthenticationMode: 'PERSONAL_SUBSCRIPTION' },
    })}`,
  },
  {
    because: 'a part of it is there',
    spec,
    memory: { id: 'inst_1', ownership: 'Created' },
    comesTo: `POST /solutions ${body({ installationId: 'inst_1' })}`,
  },
  {
    because: 'the spec names an installation that was begun before',
    spec: { ...spec, installationId: 'inst_7' },
    comesTo: `POST /solutions ${body({ installationId: 'inst_7' })}`,
  },
  {
    because: 'the account does not allow to take one up',
    spec: { ...spec, installationId: 'inst_7' },
    account: { adoption: 'Never' },
    comesTo: 'stall AdoptionNotAllowed',
  },
  { because: 'it is complete', spec, memory: complete(asApplied), comesTo: 'ready InSync' },
  {
    because: 'the region of a complete one is changed',
    spec: { ...spec, region: 'us-east' },
    memory: complete(asApplied),
    comesTo: 'stall Immutable',
  },
  {
    because: 'an input of a complete one is dropped',
    spec,
    memory: complete({ ...asApplied, 'inputs.model': 'x' }),
    comesTo: 'stall Immutable',
  },
  {
    because: 'the agent image of a complete one is changed',
    spec: { ...spec, inputs: { agentImage: { value: 'svc/agent:2' } } },
    memory: complete({ ...asApplied, 'inputs.agentImage': 'svc/agent:1' }),
    comesTo: `POST /solutions ${body({ installationId: 'inst_1', inputs: { agentImage: 'svc/agent:2' } })}`,
  },
  {
    because: 'the agent image is changed and the id was never shown',
    spec: { ...spec, inputs: { agentImage: { value: 'svc/agent:2' } } },
    memory: complete({ ...asApplied, 'inputs.agentImage': 'svc/agent:1' }, { id: undefined }),
    comesTo: 'stall InstallationIdUnknown',
  },
  {
    because: 'a component is proved gone',
    spec,
    memory: complete(asApplied),
    shown: [catalogue, shows(appsOf('acc_1'), [], 70_000), shows(appOf('app_worker-api'), [], 70_000)],
    with: { notes: { missedAt: 5_000 } },
    comesTo: 'stall ObjectGone',
  },
  {
    because: 'a component is proved gone and is to be made again',
    spec: { ...spec, lifecycle: { onMissing: 'Recreate' } },
    memory: complete(asApplied),
    shown: [catalogue, shows(appsOf('acc_1'), [], 70_000), shows(appOf('app_worker-api'), [], 70_000)],
    with: { notes: { missedAt: 5_000 } },
    comesTo: `POST /solutions ${body({ installationId: 'inst_1' })}`,
  },
  { because: 'deleting it leaves it as it is', spec, subject: { deleting: true }, comesTo: 'release' },
];

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

describe('an installation', () => {
  it.each(rows)('comes to the right end when $because', ({ comesTo, ...options }) => {
    expect(inShort(settledStep(solutionInstallation, { shown: calm, ...options }))).toBe(comesTo);
  });

  it('is written down before it is sent, with the apps that could be taken for its components', () => {
    const call = callIn(settledStep(solutionInstallation, { spec, shown: calm }));

    expect(call.journal).toMatchObject({
      operation: 'install',
      attempt: 1,
      create: { collection: 'solutions', name: 'worker', excluded: ['app_worker-api'] },
    });
  });

  it('keeps the secret inputs out of the note', () => {
    const inputs = { key: { valueFrom: { secretKeyRef: { name: 's', key: 'k' } } } };
    const call = callIn(
      settledStep(solutionInstallation, { spec: { ...spec, inputs }, shown: calm, secrets: { 's/k': 'hush-hush' } }),
    );

    const told = call.tells?.({ postInstallNote: 'your key is hush-hush, see https://x.example' });

    expect(told?.note).toBe('your key is [secret], see [url]');
  });
});

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
