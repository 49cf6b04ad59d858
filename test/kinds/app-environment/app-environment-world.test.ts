import { describe, expect, it } from 'vitest';
import { atFirst } from '../../support/disturbed-wire.ts';
import type { InProcess } from '../../support/in-process.ts';
import {
  aWorld,
  commits,
  conditionOf,
  environmentOf,
  messageOf,
  statusOf,
  writesSince,
  neverDeployed,
} from '../support/world.ts';

const spec = { externalId: 'env_web_staging', powerState: 'Running' };
const kind = 'AppEnvironment';
const name = 'staging';

function images(environment: Readonly<Record<string, unknown>>): readonly string[] {
  return (environment['contents'] as readonly { image: string }[]).map(({ image }) => image);
}

/** Deployments of a kind that the service carried out. */
async function deployments(world: InProcess, action = 'deploy-image'): Promise<number> {
  return (await commits(world)).filter(({ detail }) => detail['action'] === action).length;
}

/** An environment that is bound and runs the first image of ours. */
async function aDeployedWorld(options: Parameters<typeof aWorld>[0] = {}): Promise<InProcess> {
  const world = await aWorld(options);
  world.apply(kind, name, { ...spec, deploy: { image: 'r/x:1', onBind: 'Deploy' } });
  await world.run(130_000);
  return world;
}

describe('an AppEnvironment in a world', () => {
  it('waits for an environment that does not exist yet and deploys to it within a poll of its coming', async () => {
    const world = await aWorld();
    world.apply(kind, name, { appRef: { externalId: 'app_web' }, environmentName: 'beta', deploy: { image: 'r/x:1' } });
    await world.run(5_000);
    const waiting = conditionOf(world, kind, name);
    await world.control('POST', '/environments', { appId: 'app_web', name: 'beta', region: 'eu-west' });
    await world.run(75_000);

    expect(waiting).toBe('False/EnvironmentNotFound');
    expect(conditionOf(world, kind, name)).toBe('True/InSync');
    expect(statusOf(world, kind, name)).toMatchObject({
      state: 'Running',
      deploy: { revision: 'r/x:1', outcome: 'Running' },
    });
    expect(await writesSince(world, 0)).toEqual(['POST /app-env/deploy-image 200']);
  });

  it('goes through deployments, rollback, redeployment, stop and start with one call each', async () => {
    const world = await aDeployedWorld();
    const first = (statusOf(world, kind, name)['deploy'] as { contentId: string }).contentId;
    const steps = [
      { deploy: { image: 'r/x:2' }, env: [{ name: 'A', value: '1' }] },
      { deploy: { rollbackContentId: first } },
      { deploy: { rollbackContentId: first }, powerState: 'Stopped' },
      { deploy: { rollbackContentId: first }, powerState: 'Running' },
    ];
    for (const step of steps) {
      world.apply(kind, name, { ...spec, ...step });
      await world.run(20_000);
    }
    world.apply(kind, name, { ...spec, deploy: { rollbackContentId: first } }, { 'apphosting.dev/redeploy-at': 'now' });
    await world.run(20_000);

    expect(await writesSince(world, 0)).toEqual([
      'POST /app-env/deploy-image 200',
      'POST /app-env/deploy-image 200',
      'POST /app-env/rollback 200',
      'POST /app-env/stop 200',
      'POST /app-env/start 200',
      'POST /app-env/redeploy 200',
    ]);
    expect(statusOf(world, kind, name)).toMatchObject({
      state: 'Running',
      lastHandledRedeployAt: 'now',
      leftover: ['env.A'],
    });
    const environment = await environmentOf(world, 'env_web_staging');
    expect(environment['currentContentId']).toBe(first);
    expect(environment['envVars']).toMatchObject({ A: '1' });
  });

  it.each([
    ['onBind: Deploy', { deploy: { image: 'r/x:1', onBind: 'Deploy' } }, {}],
    ['a new redeploy-at', { deploy: { image: 'r/x:1' } }, { 'apphosting.dev/redeploy-at': 'now' }],
  ])('deploys what only counted as deployed, once, when asked to by %s', async (_what, asked, annotations) => {
    const world = await aDeployedWorld();
    world.delete(kind, name);
    await world.run(2_000);
    const env = [{ name: 'B', value: '2' }];
    world.apply(kind, name, { ...spec, deploy: { image: 'r/x:1' }, env });
    await world.run(130_000);
    expect(conditionOf(world, kind, name)).toBe('True/DeployAssumed');

    world.apply(kind, name, { ...spec, ...asked, env }, annotations);
    await world.run(130_000);

    expect(conditionOf(world, kind, name)).toBe('True/InSync');
    expect([await deployments(world), await deployments(world, 'redeploy')]).toEqual([2, 0]);
    expect((await environmentOf(world, 'env_web_staging'))['envVars']).toMatchObject({ B: '2' });
  });

  it('does not tell how a deployment ended by a list that is older than it', async () => {
    const world = await aDeployedWorld({ readings: { 'lists.lagMs': 20_000 } });
    await world.run(60_000);
    world.apply(kind, name, { ...spec, deploy: { image: 'r/x:2' } });
    const seen = new Set<unknown>();
    for (let at = 0; at < 18; at += 1) {
      await world.run(1_000);
      const { deploy } = statusOf(world, kind, name) as { deploy?: { revision: string; outcome: string } };
      if (deploy?.revision === 'r/x:2') seen.add(deploy.outcome);
    }
    await world.run(120_000);

    expect([...seen]).toEqual(['Updating']);
    expect(statusOf(world, kind, name)).toMatchObject({ deploy: { revision: 'r/x:2', outcome: 'Running' } });
    expect(await deployments(world)).toBe(2);
  });

  it.each([
    'loseAnswer',
    'hangAfter',
    { afterwards: { status: 502, text: '' } },
    { afterwards: { status: 200, text: '{' } },
  ] as const)('does not deploy again what was deployed though the answer was lost (%j)', async (what) => {
    const world = await aDeployedWorld();
    world.interference = atFirst('POST /app-env/deploy-image', what);
    world.apply(kind, name, { ...spec, deploy: { image: 'r/x:2' } });
    await world.run(400_000);

    expect(conditionOf(world, kind, name)).toBe('True/InSync');
    expect(images(await environmentOf(world, 'env_web_staging')).filter((image) => image === 'r/x:2')).toHaveLength(1);
  });

  it.each([
    ['loseBefore', 5_000],
    ['hangBefore', 500],
    ['hangBefore', 2_500],
  ] as const)(
    'does not take a change of its own app for a deployment of which nobody knows (%s, %i ms)',
    async (what, ms) => {
      const world = await aWorld();
      const app = {
        externalId: 'app_web',
        name: 'web',
        port: 3000,
        image: { reference: 'r/x:1' },
        applyImmediately: true,
      };
      world.apply('HostedApp', 'web', app);
      world.apply(kind, name, { ...spec, deploy: { image: 'r/x:1', onBind: 'Deploy' } });
      await world.run(200_000);
      world.interference = atFirst('POST /app-env/deploy-image', what);
      world.apply(kind, name, { ...spec, deploy: { image: 'r/x:2' } });
      await world.run(ms);
      world.apply('HostedApp', 'web', { ...app, port: 9090 });
      await world.run(10_000);
      const held = conditionOf(world, 'HostedApp', 'web');
      await world.run(400_000);

      expect(held).toBe('False/EnvironmentInDoubt');
      expect(conditionOf(world, 'HostedApp', 'web')).toBe('True/InSync');
      expect((await world.request('GET', '/app?appId=app_web')).body).toMatchObject({ port: 9090 });
      expect(images(await environmentOf(world, 'env_web_staging')).at(-1)).toBe('r/x:2');
    },
  );

  it.each([
    ['a deployment', { deploy: { image: 'r/x:2' } }, {}, '/app-env/deploy-image'],
    ['a redeployment', { deploy: { image: 'r/x:1' } }, { 'apphosting.dev/redeploy-at': 'now' }, '/app-env/redeploy'],
  ])('does not take what somebody does later for %s that was given up', async (_what, change, annotations, path) => {
    const world = await aDeployedWorld();
    world.interference = (request) => (request.path.endsWith(path) ? 'loseBefore' : undefined);
    world.apply(kind, name, { ...spec, ...change }, annotations);
    await world.run(700_000);
    const given = conditionOf(world, kind, name);
    world.interference = () => undefined;
    await world.request('POST', '/app-env/redeploy', { appEnvId: spec.externalId });
    await world.run(200_000);
    const later = conditionOf(world, kind, name);
    world.apply(kind, name, { ...spec, ...change }, { 'apphosting.dev/redeploy-at': 'again' });
    await world.run(70_000);

    expect([given, later]).toEqual(['False/DeployInDoubt', 'False/DeployInDoubt']);
    expect(conditionOf(world, kind, name)).toBe('True/InSync');
    expect((await commits(world)).filter(({ detail }) => detail['action'] === path.split('/')[2])).toHaveLength(2);
  });

  it.each([0, 900_000])(
    'dates a deployment whose process died twice from its last attempt, also if the spec was another one for %i ms after it',
    async (otherMs) => {
      const world = await aDeployedWorld();
      const wanted = { ...spec, deploy: { image: 'r/x:2' } };
      const before = await deployments(world);
      const begun: string[] = [];
      world.interference = ({ path }) => {
        if (!path.endsWith('/deploy-image')) return undefined;
        const { internal } = statusOf(world, kind, name) as { internal: { journal: { startedAt: string } } };
        begun.push(internal.journal.startedAt);
        world.kill();
        return 'refuseConnection';
      };
      world.apply(kind, name, wanted);
      await world.run(10_000);
      await world.crash();
      await world.run(200_000);
      await world.crash();
      await world.run(10_000);
      if (otherMs > 0) world.apply(kind, name, { ...spec, deploy: { image: 'r/x:1' } });
      await world.run(otherMs);
      world.apply(kind, name, wanted);
      await world.run(300_000);

      expect(begun).toHaveLength(2);
      expect(await deployments(world)).toBe(before);
      expect(conditionOf(world, kind, name)).toBe('False/DeployInDoubt');
      expect(statusOf(world, kind, name)['deploy']).toMatchObject({ sentTime: begun[1], repeatedAfterDoubt: 1 });
    },
  );

  it('does not take a change of its app for its second attempt, when the first two are lost', async () => {
    const world = await aDeployedWorld();
    world.apply('HostedApp', 'web', { externalId: 'app_web', name: 'web', port: 8080, image: { reference: 'r/x:1' } });
    await world.run(130_000);
    world.interference = ({ path }) => (path.endsWith('/app-env/deploy-image') ? 'loseBefore' : undefined);
    world.apply(kind, name, { ...spec, deploy: { image: 'r/x:2' } });
    await world.run(10_000);
    world.apply('HostedApp', 'web', {
      externalId: 'app_web',
      name: 'web',
      applyImmediately: true,
      port: 9090,
      image: { reference: 'r/x:1' },
    });
    await world.run(700_000);

    expect(conditionOf(world, kind, name)).toBe('False/DeployInDoubt');
    expect(conditionOf(world, 'HostedApp', 'web')).toBe('True/InSync');
    expect((await world.request('GET', '/app?appId=app_web')).body).toMatchObject({ port: 9090 });
  });

  it('only observes in mode Observe, and says what it would do', async () => {
    const world = await aDeployedWorld();
    world.apply(kind, name, { ...spec, deploy: { image: 'r/x:2' }, lifecycle: { managementPolicy: 'Observe' } });
    await world.run(70_000);

    expect(conditionOf(world, kind, name)).toBe('True/Observed');
    expect(statusOf(world, kind, name)['wouldDo']).toBe('deploy image r/x:2 in environment "staging"');
    expect(await deployments(world)).toBe(1);
  });

  it('still says that it was never deployed after the service has updated it', async () => {
    const world = await aWorld();
    const externalId = await neverDeployed(world);
    world.apply(kind, name, { externalId, powerState: 'Running' });
    await world.run(70_000);
    await world.control('PATCH', `/environments/${externalId}`, { status: 'updating' });
    await world.run(70_000);
    const during = conditionOf(world, kind, name, 'Deployed');

    await world.control('PATCH', `/environments/${externalId}`, { status: 'stopped' });
    await world.run(70_000);

    expect([during, conditionOf(world, kind, name, 'Deployed')]).toEqual(['Unknown/Updating', 'False/NeverDeployed']);
    expect(conditionOf(world, kind, name)).toBe('False/NeverDeployed');
  });

  it.each([
    ['deploy.settles', 'lastKnown'],
    ['status.words', 'upper'],
    ['status.words', 'lower'],
    ['deployImage.contentId', 'appEnv'],
    ['deployImage.contentId', 'absent'],
    ['lists.lagMs', 45_000],
    ['lists.order', 'shuffled'],
    ['dates.form', 'seconds'],
    ['fields.extra', 'on'],
    ['fields.nulls', 'on'],
    ['deploy.whileUpdating', 'reject'],
  ])('reaches Ready with one call for each change when %s is %s', async (reading, value) => {
    const world = await aWorld({ readings: { [reading]: value } });
    world.apply(kind, name, { ...spec, deploy: { image: 'r/x:1', onBind: 'Deploy' } });
    await world.run(200_000);
    world.apply(kind, name, { ...spec, deploy: { image: 'r/x:2' } });
    await world.run(200_000);
    world.apply(kind, name, { ...spec, powerState: 'Stopped', deploy: { image: 'r/x:2' } });
    await world.run(200_000);

    expect(conditionOf(world, kind, name)).toBe('True/InSync');
    expect(statusOf(world, kind, name)['state']).toBe('Stopped');
    expect(await writesSince(world, 0)).toEqual([
      'POST /app-env/deploy-image 200',
      'POST /app-env/deploy-image 200',
      'POST /app-env/stop 200',
    ]);
  });

  it.each(['Stopped', 'Running'])(
    'does not take an answer that says no in its body for a change to %s',
    async (wanted) => {
      const world = await aDeployedWorld();
      const deploy = { image: 'r/x:1' };
      if (wanted === 'Running') world.apply(kind, name, { ...spec, deploy, powerState: 'Stopped' });
      await world.run(70_000);
      const text = '{"success":false,"message":"no room","appEnv":{"appEnvId":"env_web_staging"}}';
      world.interference = ({ path }) =>
        path.endsWith('/stop') || path.endsWith('/start') ? { insteadOf: { status: 200, text } } : undefined;
      world.apply(kind, name, { ...spec, deploy, powerState: wanted });
      await world.run(20_000);

      expect(conditionOf(world, kind, name)).toBe('False/Rejected');
      expect(messageOf(world, kind, name)).toContain('no room');
    },
  );

  it('remembers what it learned between a refusal and its repetition', async () => {
    const world = await aDeployedWorld();
    const { externalId } = spec;
    const runs = { externalId, deploy: { image: 'r/x:1' } };
    const refused = { externalId, deploy: { image: 'r/x:2' }, env: [{ name: 'A', value: '2' }] };
    const power = { powerState: 'Running', lifecycle: { drift: 'Report' } };
    world.interference = ({ path }) =>
      path.endsWith('/deploy-image') ? { insteadOf: { status: 400, text: '{"message":"no"}' } } : undefined;
    const verdicts: unknown[] = [];
    for (const wanted of [runs, refused, { ...runs, ...power }, { ...refused, ...power }]) {
      world.apply(kind, name, wanted);
      await world.run(20_000);
      verdicts.push(conditionOf(world, kind, name));
    }
    await world.control('PATCH', '/environments/env_web_staging', { status: 'stopped' });
    await world.run(70_000);
    world.apply(kind, name, { ...runs, ...power });
    await world.run(70_000);

    expect(verdicts).toEqual(['True/InSync', 'False/Rejected', 'True/InSync', 'False/Rejected']);
    expect(conditionOf(world, kind, name)).toBe('True/DriftReported');
    expect(await writesSince(world, 0)).toEqual(['POST /app-env/deploy-image 200']);
  });

  it.each(['Deploy', 'Assume'])(
    'says without a call that a job takes no startup override, onBind: %s',
    async (onBind) => {
      const world = await aWorld();
      world.apply('AppEnvironment', 'job', {
        externalId: 'env_job_prod',
        deploy: { image: 'r/x:1', onBind },
        startupConfig: { command: 'run' },
      });
      await world.run(60_000);

      expect(conditionOf(world, 'AppEnvironment', 'job')).toBe('False/Rejected');
      expect(messageOf(world, 'AppEnvironment', 'job')).toContain(
        'spec.startupConfig is not allowed for a job: remove it',
      );
      expect(world.sent.filter(({ method }) => method === 'POST')).toEqual([]);
    },
  );
});
