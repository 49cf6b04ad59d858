import { describe, expect, it } from 'vitest';
import { steering, type Steering } from '../../../src/cli/day-two/steer.ts';
import type { Waiting } from '../../../src/cli/machine.ts';
import { InProcess } from '../../support/in-process.ts';
import { clusterOf } from '../support/in-memory.ts';
import { ran } from '../support/spoken.ts';

/** A world with an environment that runs, and the metadata that it was applied with. */
async function worldOf(annotations: Readonly<Record<string, string>> = {}): Promise<InProcess> {
  const world = new InProcess({ world: 'demo' });
  await world.start();
  world.account();
  world.apply('AppEnvironment', 'web', { externalId: 'env_web_prod' }, annotations);
  await world.run(100_000);
  world.sent.splice(0);
  return world;
}

/** Time of the world: a command that waits lets it pass. */
function waitingIn(world: InProcess): Waiting {
  return { nowMs: () => world.clock.wall(), pause: (ms) => world.run(ms) };
}

function run(world: InProcess, name: Steering, ...args: readonly string[]) {
  return ran(steering(name), args, { cluster: clusterOf(world), time: waitingIn(world) });
}

const sent = (world: InProcess) => world.sent.map(({ method, path }) => `${method} ${path.replace(/.*v1/, '')}`);

describe('a command for one resource', () => {
  it.each([
    ['stop', ['POST /app-env/stop']],
    ['redeploy', ['POST /app-env/redeploy']],
    ['reconcile', []],
  ] as const)('%s is carried out, and waits until the resource is Ready', async (name, calls) => {
    const world = await worldOf();

    const { code, out } = await run(world, name, 'AppEnvironment/web', '--wait');

    expect(out).toMatch(/^AppEnvironment\/web: \w+ requested\nAppEnvironment\/web: \w+\n$/);
    expect(code).toBe(0);
    expect(sent(world)).toEqual(calls);
  });

  it.each(['redeploy', 'stop'] as const)('%s waits until the service is done with it', async (name) => {
    const world = await worldOf();
    const statusOf = async () => {
      const { body } = await world.request('GET', '/app-envs?accountId=acc_demo');
      const { appEnvs } = body as {
        readonly appEnvs: readonly { readonly appEnvId: string; readonly status: string }[];
      };
      return appEnvs.find(({ appEnvId }) => appEnvId === 'env_web_prod')?.status;
    };

    await run(world, name, 'web', '--wait');

    expect(await statusOf()).toBe(name === 'stop' ? 'stopped' : 'running');
  });

  it('pauses and resumes', async () => {
    const world = await worldOf();

    await run(world, 'pause', 'aenv/web');
    await run(world, 'stop', 'web');
    await world.run(100_000);
    const whilePaused = sent(world);
    const resumed = await run(world, 'resume', 'aenv/web', '--wait');

    expect(whilePaused).toEqual([]);
    expect(resumed.code).toBe(0);
    expect(sent(world)).toEqual(['POST /app-env/stop']);
  });

  it.each([
    ['pause', 'paused'],
    ['resume', 'InSync'],
  ] as const)('%s waits until the operator has taken it up, and not longer', async (name, word) => {
    const world = await worldOf();
    if (name === 'resume') await run(world, 'pause', 'aenv/web', '--wait');

    const { code, out } = await run(world, name, 'aenv/web', '--wait');
    world.kill();
    const late = await run(world, name, 'aenv/web', '--wait', '--timeout', '5');

    expect([code, out]).toEqual([0, `AppEnvironment/web: ${name} requested\nAppEnvironment/web: ${word}\n`]);
    expect(late.code).toBe(1);
    expect(late.err).toContain('AppEnvironment/web is not');
  });

  it('holds what waits for something too, and says so', async () => {
    const world = await worldOf();
    world.apply('MetricAlert', 'busy', {
      environmentRef: { name: 'web' },
      metric: 'cpu_percent',
      operator: 'GreaterThan',
      contactPointRefs: [{ name: 'none' }],
    });
    await world.run(30_000);

    const { code, out } = await run(world, 'pause', 'MetricAlert/busy', '--wait');

    expect([code, out]).toEqual([0, 'MetricAlert/busy: pause requested\nMetricAlert/busy: paused\n']);
  });

  it('changes nothing with --dry-run', async () => {
    const world = await worldOf();
    const before = world.get('AppEnvironment', 'web');

    const { code, out } = await run(world, 'stop', 'web', '--dry-run');

    expect([code, out]).toEqual([0, 'AppEnvironment/web: {"op":"add","path":"/spec/powerState","value":"Stopped"}\n']);
    expect(world.get('AppEnvironment', 'web')).toEqual(before);
  });

  it('does not change under Argo CD what it owns, and prints the edit for Git', async () => {
    const world = await worldOf({ 'argocd.argoproj.io/tracking-id': 'shop:apphosting.dev/AppEnvironment:team/web' });

    const { code, out, err } = await run(world, 'stop', 'web');

    expect([code, out]).toEqual([3, 'spec:\n  powerState: Stopped\n']);
    expect(err).toContain('Argo CD (Application shop) owns AppEnvironment/web');
    expect(sent(world)).toEqual([]);
  });

  it('ends with 2 when the resource cannot get Ready by itself', async () => {
    const world = await worldOf();
    world.apply('ContactPoint', 'lost', { email: { addresses: ['a@example.com'] }, externalId: 'cp_nowhere' });
    await world.run(30_000);

    const { code, err } = await run(world, 'reconcile', 'ContactPoint/lost', '--wait');

    expect(err).toContain('ContactPoint/lost is stalled: NotFound');
    expect(code).toBe(2);
  });

  it('ends with 2 as soon as the service refuses what was asked for', async () => {
    const world = await worldOf();
    const began = world.clock.monotonic();

    const { code, err } = await run(world, 'rollback', 'web', '--wait');

    expect(err).toContain('AppEnvironment/web is stalled: RollbackRefused');
    expect(code).toBe(2);
    expect(world.clock.monotonic() - began).toBeLessThan(60_000);
  });

  it.each(['reconcile', 'stop'] as const)('%s says of a paused resource that nothing was reconciled', async (name) => {
    const world = await worldOf();
    await run(world, 'pause', 'aenv/web', '--wait');

    const { code, out, err } = await run(world, name, 'aenv/web', '--wait');

    expect(err).toContain('AppEnvironment/web is paused, so nothing was reconciled; to go on: apphosting resume ');
    expect([code, out]).toEqual([2, `AppEnvironment/web: ${name} requested\n`]);
    expect(sent(world)).toEqual([]);
  });

  it('ends with 1 when time is up', async () => {
    const world = await worldOf();
    world.kill();

    const { code, err } = await run(world, 'reconcile', 'aenv/web', '--wait', '--timeout', '5');

    expect(err).toContain('AppEnvironment/web is not Ready after 5 s');
    expect(code).toBe(1);
  });

  it.each([
    ['redeploy', 'ContactPoint/a', 64, 'is not an AppEnvironment'],
    ['reconcile', 'web', 64, 'must have the form KIND/NAME'],
    ['reconcile', 'ContactPoint/none', 1, 'there is no ContactPoint/none in namespace team'],
  ] as const)('%s %s ends with %i', async (name, target, code, line) => {
    const result = await run(await worldOf(), name, target);

    expect(result.err).toContain(line);
    expect(result.code).toBe(code);
  });
});
