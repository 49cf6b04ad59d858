import { describe, expect, it } from 'vitest';
import { status } from '../../../src/cli/status/status.ts';
import { why } from '../../../src/cli/status/why.ts';
import { InProcess } from '../../support/in-process.ts';
import { clusterOf } from '../support/in-memory.ts';
import { ran } from '../support/spoken.ts';

const alert = {
  environmentRef: { name: 'web' },
  metric: 'cpu_percent',
  operator: 'GreaterThan',
  contactPointRefs: [{ name: 'on-call' }],
};

/** An account with an app, its environment and an alert there. */
async function worldOf(token = 'demo-admin'): Promise<InProcess> {
  const world = new InProcess({ world: 'demo' });
  await world.start();
  world.account();
  world.secret('hosting-credentials', { baseUrl: 'http://127.0.0.1:8088', token });
  world.apply('HostedApp', 'web', { externalId: 'app_web', port: 3000 });
  world.apply('AppEnvironment', 'web', { appRef: { name: 'web' }, externalId: 'env_web_prod' });
  world.apply('ContactPoint', 'on-call', { email: { addresses: ['a@example.com'] } });
  world.apply('MetricAlert', 'busy', alert);
  await world.run(200_000);
  return world;
}

async function run(command: typeof status, world: InProcess, ...args: readonly string[]) {
  return ran(command, args, { cluster: clusterOf(world) });
}

describe('status', () => {
  it('shows an account as a tree, alerts under their environments', async () => {
    const { code, out } = await run(status, await worldOf(), '--color', 'never');

    const titles = out.split('\n').map((line) => line.split(/ {2,}(?=True|READY)/)[0]);
    expect(titles.slice(0, 6)).toEqual([
      'RESOURCE',
      'HostingAccount/default',
      '├─ HostedApp/web',
      '│  └─ AppEnvironment/web',
      '│     └─ MetricAlert/busy',
      '└─ ContactPoint/on-call',
    ]);
    expect(out).toContain('all 5 resources are Ready');
    expect(code).toBe(0);
  });

  it('ends with 2 and counts what is not Ready', async () => {
    const world = await worldOf();
    world.apply('MetricAlert', 'lost', { ...alert, environmentRef: { name: 'nowhere' } });
    await world.run(10_000);

    const { code, out } = await run(status, world, '-o', 'wide', '--color', 'never');

    expect(out).toMatch(/MetricAlert\/lost +False .*ReferenceNotReady: /);
    expect(out).toContain('1 of 6 resources is not Ready');
    expect(code).toBe(2);
  });

  it('ends with 1 and names the verb where one kind may not be read, and shows the others', async () => {
    const world = await worldOf();
    const cluster = clusterOf(world);
    cluster.api.inject({ verb: 'list', plural: 'metricalerts', effect: 'before', outcome: 'forbidden' });

    const { code, out, err } = await ran(status, [], { cluster });

    expect(err).toContain('may not list metricalerts.apphosting.dev in namespace team');
    expect(out).toContain('HostedApp/web');
    expect(out).toContain('all 4 resources that could be read are Ready');
    expect(code).toBe(1);
  });

  it.each([
    ['status', status, ['--color', 'never'], 'no resource could be read, so nothing is known\n'],
    ['why', why, ['-A'], 'no resource could be read, so nothing is known\n'],
  ] as const)(
    '%s says that nothing could be read, and not that there is nothing',
    async (_name, command, args, told) => {
      const world = await worldOf();
      const cluster = clusterOf(world);
      cluster.api.inject({ verb: 'list', effect: 'before', outcome: 'forbidden', times: 100 });

      const { code, out } = await ran(command, args, { cluster });

      expect([code, out]).toEqual([1, told]);
    },
  );
});

describe('why', () => {
  it('says that what is Ready is Ready', async () => {
    const { code, out } = await run(why, await worldOf(), 'malert/busy');

    expect([code, out]).toEqual([0, 'MetricAlert/busy is Ready\n']);
  });

  it('follows what an object waits for down to the account, and says what to do', async () => {
    const { code, out } = await run(why, await worldOf('nobody'), 'MetricAlert/busy');

    expect(out).toMatch(/^MetricAlert\/busy is not Ready for \d+\w: AccountNotReady$/m);
    expect(out).toMatch(
      /^└─ HostingAccount\/default {2}Unauthorized since \d\d:\d\dZ {3}<- cause; 3 more resources have this cause$/m,
    );
    expect(out).toContain('do: ');
    expect(out).toContain('docs/runbooks/service-unauthorized.md');
    expect(code).toBe(3);
  });

  it('names a reference that is not there', async () => {
    const world = await worldOf();
    world.apply('MetricAlert', 'lost', { ...alert, environmentRef: { name: 'nowhere' } });
    await world.run(10_000);

    const { code, out } = await run(why, world, 'metricalerts/lost');

    expect(out).toContain('└─ AppEnvironment/nowhere  NotFound   <- cause');
    expect(out).toContain('do: Create the object, or correct its name');
    expect(code).toBe(3);
  });

  it('says to check the id where the service has no object with the id of the spec', async () => {
    const world = await worldOf();
    world.apply('HostedApp', 'other', { externalId: 'app_nowhere', port: 3000 });
    await world.run(200_000);

    const { out } = await run(why, world, 'HostedApp/other');

    expect(out).toMatch(/^HostedApp\/other is not Ready.*: NotFound$/m);
    expect(out).toContain('do: Check that the id is right');
  });

  it('says that nobody has looked where no operator runs', async () => {
    const world = await worldOf();
    world.kill();
    world.apply('ContactPoint', 'new', { email: { addresses: ['a@example.com'] } });

    const { code, out } = await run(why, world, 'ContactPoint/new');

    expect(out).toContain('ContactPoint/new is not Ready: NotSeen');
    expect(code).toBe(1);
  });

  it('tells all that is not Ready, or that all is', async () => {
    const { code, out } = await run(why, await worldOf(), '-A');

    expect([code, out]).toEqual([0, 'all 5 resources are Ready\n']);
  });

  it('names the namespace of each resource with -A', async () => {
    const { code, out } = await run(why, await worldOf('nobody'), '-A');

    expect(out).toMatch(/^MetricAlert\/team\/busy is not Ready /m);
    expect(out).toMatch(/^└─ HostingAccount\/team\/default {2}Unauthorized /m);
    expect(code).toBe(3);
  });

  it.each([
    ['a resource that is not there', ['ContactPoint/none'], 1, 'there is no ContactPoint none in namespace team'],
    [
      'a kind that is none',
      ['Pod/a'],
      64,
      '"Pod/a" must have the form KIND/NAME, where KIND is a kind of apphosting.dev',
    ],
    ['nothing', [], 64, 'name a resource as KIND/NAME'],
    ['a kind and a name apart', ['ContactPoint', 'a'], 64, 'unexpected argument "a": give only KIND/NAME'],
  ])('says of %s what is wrong', async (_because, args, code, line) => {
    const result = await run(why, await worldOf(), ...args);

    expect(result.err).toContain(line);
    expect(result.code).toBe(code);
  });
});
