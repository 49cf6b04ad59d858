import { describe, expect, it, vi } from 'vitest';
import { catalog, inventory } from '../../../src/cli/day-two/inventory.ts';
import { KubeError } from '../../../src/engine/ports.ts';
import { InProcess } from '../../support/in-process.ts';
import { clusterOf } from '../support/in-memory.ts';
import { serviceAtSocket } from '../support/service.ts';
import { ran } from '../support/spoken.ts';

describe('an inventory', () => {
  it('lists everything with its id, what no resource manages first', async () => {
    const service = await serviceAtSocket();
    const world = new InProcess({ world: 'demo' });
    await world.start();
    world.account();
    world.apply('HostedApp', 'web', { externalId: 'app_web', port: 3000 });
    world.apply('SolutionInstallation', 'jobs', { solution: 'queue-worker', appName: 'jobs', region: 'eu-west' });
    await world.run(100_000);
    // The service of the world, where the solution was installed, and the one at the socket know the same environment.
    world.tamper('SolutionInstallation', 'jobs', (status) => ({
      ...status,
      components: [{ name: 'queue', environmentId: 'env_fn_prod' }],
    }));

    const { code, out } = await ran(inventory, service.flags, { cluster: clusterOf(world) });

    const lines = out.split('\n');
    expect(lines).toContainEqual(expect.stringMatching(/^app +app_web +web +HostedApp\/team\/web$/));
    expect(lines).toContainEqual(
      expect.stringMatching(/^environment +env_fn_prod .*SolutionInstallation\/team\/jobs$/),
    );
    expect(lines.findIndex((line) => line.includes('HostedApp/team/web'))).toBe(8);
    expect(out).toContain('7 of 9 objects are managed by no resource');
    expect(code).toBe(0);
  });

  it('says where resources that could not be read may manage what it lists as managed by none', async () => {
    const service = await serviceAtSocket();
    const cluster = clusterOf(new InProcess({ world: 'demo' }));
    vi.spyOn(cluster.api, 'list').mockRejectedValue(new KubeError('forbidden', 'no'));

    const { out, code } = await ran(inventory, service.flags, { cluster });

    expect(out).toContain('9 of 9 objects that could be read are not managed by any resource that could be read');
    expect(code).toBe(1);
  });

  it('says what could not be read, and ends with 1', async () => {
    const service = await serviceAtSocket('demo-foreign');

    const { code, err } = await ran(inventory, service.flags);

    expect(err).toContain('the list of apps: GET /apps');
    expect(code).toBe(1);
  });
});

describe('a catalogue', () => {
  it('lists presets with their versions, and solutions with their components', async () => {
    const service = await serviceAtSocket();

    const { code, out } = await ran(catalog, service.flags);

    expect(out).toMatch(/^database +POSTGRESQL +\S+ \(default\)/m);
    expect(out).toMatch(/^solution +queue-worker +\w/m);
    expect(code).toBe(0);
    expect(new Set(await service.methods())).toEqual(new Set(['GET']));
  });
});
