/** An upgrade of a solution and a deployment to one of its environments. */
import { describe, expect, it } from 'vitest';
import type { Disturbance } from '../../support/disturbed-wire.ts';
import type { InProcess } from '../../support/in-process.ts';
import { aWorld, conditionOf, internalOf } from '../support/world.ts';

const agent = (agentImage: string) => ({
  solution: 'sandbox-agent',
  appName: 'agent',
  region: 'eu-west',
  inputs: [
    { name: 'agentAuthenticationMode', value: 'PERSONAL_SUBSCRIPTION' },
    { name: 'agentImage', value: agentImage },
  ],
});
const control = (image: string) => ({ solutionRef: { name: 's' }, component: 'control', deploy: { image } });

/** After deadline and horizon a call can no longer arrive. */
const longestMs = 150_000;

/** A call, and which resource had begun another one that could still arrive then. */
interface Beside {
  readonly path: string;
  readonly open: readonly string[];
}

/** A world with an agent and its environment, in which something happens to the first call to this path. */
async function aWorldWith(path: string, what: Disturbance): Promise<{ world: InProcess; calls: Beside[] }> {
  const world = await aWorld();
  world.apply('SolutionInstallation', 's', agent('svc/sandbox-agent:1'));
  world.apply('AppEnvironment', 'control', control('svc/sandbox-agent:1'));
  await world.run(100_000);
  const calls: Beside[] = [];
  world.interference = (request) => {
    if (request.method !== 'POST') return undefined;
    const others = request.path.endsWith('/solutions') ? ['AppEnvironment', 'control'] : ['SolutionInstallation', 's'];
    const [kind = '', name = ''] = others;
    const { startedAt } = (internalOf(world, kind, name)['journal'] ?? {}) as { startedAt?: string };
    const isOpen = startedAt !== undefined && world.clock.wall() - Date.parse(startedAt) < longestMs;
    calls.push({ path: request.path, open: isOpen ? [kind] : [] });
    return request.path.endsWith(path) && calls.filter((call) => call.path.endsWith(path)).length === 1
      ? what
      : undefined;
  };
  return { world, calls };
}

describe('an upgrade and a deployment to the same environment', () => {
  it.each([
    ['deploy-image', 'hangAfter'],
    ['deploy-image', 'loseBefore'],
    ['solutions', 'hangAfter'],
    ['solutions', { lateMs: 100_000 }],
  ] as const)('are never under way at once, though the answer of %s is lost: %j', async (path, what) => {
    const { world, calls } = await aWorldWith(path, what);

    const isUpgradeFirst = path === 'solutions';
    const upgrade = () => void world.apply('SolutionInstallation', 's', agent('svc/sandbox-agent:2'));
    const deploy = () => void world.apply('AppEnvironment', 'control', control('svc/sandbox-agent:3'));
    (isUpgradeFirst ? upgrade : deploy)();
    await world.run(2_000);
    (isUpgradeFirst ? deploy : upgrade)();
    await world.run(1_000_000);

    expect(calls.filter(({ open }) => open.length > 0)).toEqual([]);
    expect(new Set(calls.map((call) => call.path.split('/').at(-1)))).toEqual(new Set(['deploy-image', 'solutions']));
    expect(conditionOf(world, 'SolutionInstallation', 's')).toBe('True/InSync');
    expect(conditionOf(world, 'AppEnvironment', 'control')).toBe('True/InSync');
  });

  it('come one after the other when they are applied together', async () => {
    const { world, calls } = await aWorldWith('none', 'loseBefore');

    world.apply('SolutionInstallation', 's', agent('svc/sandbox-agent:2'));
    world.apply('AppEnvironment', 'control', control('svc/sandbox-agent:3'));
    await world.run(200_000);

    expect(calls).toHaveLength(2);
    expect(calls.filter(({ open }) => open.length > 0)).toEqual([]);
    expect(conditionOf(world, 'SolutionInstallation', 's')).toBe('True/InSync');
    expect(conditionOf(world, 'AppEnvironment', 'control')).toBe('True/InSync');
  });
});
