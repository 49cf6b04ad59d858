import { describe, expect, it } from 'vitest';
import { aWorld, commits, conditionOf } from '../../kinds/support/world.ts';

const mail = { name: 'on call', email: { addresses: ['a@example.com'] } };
const alert = {
  environmentRef: { externalId: 'env_web_staging' },
  metric: 'cpu_percent',
  operator: 'GreaterThan',
  contactPointRefs: [{ name: 'on-call' }],
};
const deployment = { externalId: 'env_web_staging', powerState: 'Running' };
const app = { externalId: 'app_web', name: 'web', port: 3000, image: { reference: 'r/x:1' }, applyImmediately: true };

describe('what this process wrote, before the watch tells it', () => {
  it('counts for those who refer to it', async () => {
    const world = await aWorld();
    world.apply('ContactPoint', 'on-call', mail);
    world.apply('MetricAlert', 'cpu', alert);
    await world.run(1);
    world.kube.watchLagMs = 30_000;

    await world.run(20_000);

    expect((await commits(world)).map(({ kind }) => kind)).toContain('alert.created');
    expect(conditionOf(world, 'MetricAlert', 'cpu')).toBe('True/InSync');
  });

  it('holds up the app of an environment whose deployment is in doubt', async () => {
    const world = await aWorld();
    world.apply('HostedApp', 'web', app);
    world.apply('AppEnvironment', 'staging', { ...deployment, deploy: { image: 'r/x:1', onBind: 'Deploy' } });
    await world.run(200_000);
    world.interference = ({ path }) => (path.endsWith('/app-env/deploy-image') ? 'loseBefore' : undefined);
    world.kube.watchLagMs = 3_000;
    world.apply('AppEnvironment', 'staging', { ...deployment, deploy: { image: 'r/x:2' } });
    await world.run(100);
    world.apply('HostedApp', 'web', { ...app, port: 9090 });

    await world.run(15_000);

    expect(conditionOf(world, 'AppEnvironment', 'staging')).toBe('False/InDoubt');
    expect(conditionOf(world, 'HostedApp', 'web')).toBe('False/EnvironmentInDoubt');
    expect((await world.request('GET', '/app?appId=app_web')).body).toMatchObject({ port: 3000 });
  });
});
