import { describe, expect, it } from 'vitest';
import type { Memory } from '../../../src/engine/kind/contract/step.ts';
import type { AppRecord } from '../../../src/hosting/requests.ts';
import { hostedApp } from '../../../src/kinds/hosted-app/hosted-app.ts';
import type { HostedAppFacts } from '../../../src/kinds/hosted-app/schema.ts';
import { bound, git, image, imageApplied, shownApp, shownDeployed, source } from '../support/apps.ts';
import { anEnvironment } from '../support/environments.ts';
import { aPass, callIn, inShort, settledStep, type PassOptions } from '../support/pass.ts';
import { aWorld, commits, conditionOf, newest, statusOf } from '../support/world.ts';

const atOnce = { ...image, applyImmediately: true };

/** What an app is sent, one call after the other, as long as the service takes it and shows what it took. */
function sentUntilRest(options: PassOptions<HostedAppFacts>, shown: readonly Partial<AppRecord>[]) {
  let memory: Partial<Memory<HostedAppFacts>> = options.memory ?? {};
  const sent: unknown[] = [];
  for (const change of shown) {
    const next = () => hostedApp.step(aPass(hostedApp, { ...options, memory, shown: shownDeployed(change) }));
    let step = next();
    for (; step.is === 'again'; step = next()) memory = { ...memory, ...step.remember };
    if (step.is !== 'call') return { sent, memory, step };
    const { appId: _id, ...body } = step.call.request.body as Record<string, unknown>;
    sent.push(body);
    memory = { ...memory, ...step.call.committed({ environmentsAffected: 1 }) };
  }
  throw new Error(`it is sent ever more: ${JSON.stringify(sent)}`);
}

describe('an app whose environments an AppEnvironment deploys an image to', () => {
  const prod = {
    name: 'AppEnvironment team/prod',
    namespace: 'team',
    id: anEnvironment().appEnvId,
    ownership: 'Adopted',
    facts: {},
    takenUp: true,
    inDoubt: false,
    finished: false,
    spec: { deploy: { image: 'r/own:7' } },
  } as const;
  const deployed = { with: { related: () => [prod] } };

  it.each([
    {
      because: 'somebody made it build from source, and it has its image still',
      spec: atOnce,
      memory: bound(imageApplied),
      shown: [{ useImage: false }, {}, {}],
      sent: [{ useImage: true }],
    },
    {
      because: 'it has never had an image',
      spec: atOnce,
      memory: bound({ port: 8080 }),
      shown: [git, {}, {}],
      sent: [{ useImage: true }],
    },
    {
      because: 'another change is applied at once, when it can no longer deploy what is built from source',
      spec: { ...atOnce, port: 9090 },
      memory: bound(imageApplied),
      shown: [{ useImage: false }, {}, { port: 9090 }, { port: 9090 }],
      sent: [{ useImage: true }, { port: 9090, applyImmediately: true }],
    },
    {
      because: 'that it uses images was left pending before it was to be applied at once',
      spec: atOnce,
      memory: bound(imageApplied, { pendingChanges: ['image.reference', 'useImage'] }),
      shown: [{}],
      sent: [],
    },
  ])('is not made to replace that image: $because', ({ spec, memory, shown, sent }) => {
    const rest = sentUntilRest({ spec, memory, ...deployed }, shown);

    expect(rest.sent).toEqual(sent);
    expect(rest.memory.facts?.pendingChanges).toBeUndefined();
    expect(rest.step).toEqual(
      expect.objectContaining({
        is: 'ready',
        message:
          'the service equals the spec; spec.image is only used to create the app; the image that runs comes from AppEnvironment team/prod',
      }),
    );
  });

  it('is taken over without its own image being deployed by what is applied at once afterwards', () => {
    const spec = { ...atOnce, externalId: 'app_1', port: 9090 };
    const rest = sentUntilRest({ spec, ...deployed }, [{ useImage: false }, {}, { port: 9090 }]);

    expect(rest.sent).toEqual([{ useImage: true }, { port: 9090, applyImmediately: true }]);
    expect(rest.memory.facts?.pendingChanges).toBeUndefined();
    expect(rest.step).toMatchObject({
      message:
        'the service equals the spec; spec.image is only used to create the app; the image that runs comes from AppEnvironment team/prod',
    });
  });

  it('is made to use images again at once where no AppEnvironment deploys one', () => {
    const { sent } = sentUntilRest({ spec: atOnce, memory: bound(imageApplied) }, [{ useImage: false }, {}]);

    expect(sent).toEqual([{ useImage: true, image: 'r/mine:1', applyImmediately: true }]);
  });
});

describe('what goes along with a change of an app', () => {
  const dockerfile = { valueFrom: { configMapKeyRef: { name: 'files', key: 'Dockerfile' } } };
  const spec = { ...source, source: { ...source.source, dockerfile } };
  const inUse = { ...git, customDockerfileContentInUse: true, dockerfilePath: undefined };
  const options = {
    configMaps: { 'files/Dockerfile': 'FROM scratch' },
    memory: bound({ port: 8080, useImage: false, 'source.dockerfile': 'FROM scratch' }),
  };
  const body = { dockerPreset: 'CUSTOM', customDockerfileContent: 'FROM scratch' };

  it('waits with it in the environments, and goes along when it is applied at once', () => {
    const first = sentUntilRest({ ...options, spec }, [{ ...inUse, dockerPreset: 'NEXT_JS' }, inUse]);
    const edited = { ...options, spec: { ...spec, applyImmediately: true }, subject: { generation: 2 } };
    const second = sentUntilRest({ ...edited, memory: first.memory }, [inUse, inUse]);

    expect(first.sent).toEqual([body]);
    expect(first.memory.facts?.pendingChanges).toEqual(['preset', 'source.dockerfile']);
    expect(second.sent).toEqual([{ ...body, applyImmediately: true }]);
    expect(second.memory.facts?.pendingChanges).toBeUndefined();
  });

  it('waits with it while the answer is not there', () => {
    const call = callIn(
      settledStep(hostedApp, { ...options, spec, shown: shownApp({ ...inUse, dockerPreset: 'NEXT_JS' }) }),
    );

    expect(call.whileInFlight?.facts?.pendingChanges).toEqual(['preset', 'source.dockerfile']);
  });
});

describe('an app that is taken over with applyImmediately', () => {
  const spec = { ...atOnce, externalId: 'app_1' };
  const taken = { ...bound(), ownership: 'Adopted', applied: undefined } as const;

  it.each([
    ['nothing that shows differs', [{}, {}], []],
    ['the port differs', [{ port: 1 }, {}], [{ port: 8080, image: 'r/mine:1', applyImmediately: true }]],
    ['it is built from source', [git, {}], [{ useImage: true, image: 'r/mine:1', applyImmediately: true }]],
  ])('deploys only if something shows to differ: %s', (_what, shown, sent) => {
    expect(sentUntilRest({ spec }, shown).sent).toEqual(sent);
  });

  it('says what waits when it was taken over by its name, and applies it at once with the next edit', () => {
    const { memory, step } = sentUntilRest({ spec: atOnce, memory: taken }, [{}, {}]);
    const edited = { ...atOnce, healthCheck: { path: '/' } };
    const next = sentUntilRest({ spec: edited, memory, subject: { generation: 2 } }, [{}, {}, {}]);

    expect(memory.facts).toMatchObject({
      pendingChanges: ['image.reference'],
      takenOverGeneration: 1,
      environmentsAffected: 1,
    });
    expect(step).toMatchObject({
      is: 'ready',
      message:
        'the service equals the spec; the service does not show image.reference of the adopted app, so the operator sent the values in the spec; each environment uses these values after its next deployment, or after the next edit of this spec',
    });
    expect(next.sent).toEqual([
      { healthCheckPath: '/', applyImmediately: true },
      { image: 'r/mine:1', applyImmediately: true },
    ]);
    expect(next.memory.facts).toEqual({ environmentsAffected: 1 });
  });

  it('does not deploy it when the answer to that was lost', () => {
    const { whileInFlight } = callIn(settledStep(hostedApp, { spec: atOnce, memory: taken, shown: shownDeployed() }));
    const memory = { ...taken, ...whileInFlight };

    expect(inShort(settledStep(hostedApp, { spec: atOnce, memory, shown: shownDeployed() }))).toBe(
      'PATCH /app {"appId":"app_1","image":"r/mine:1"}',
    );
  });

  it('is not redeployed when its status was lost', async () => {
    const world = await aWorld();
    const web = {
      externalId: 'app_web',
      name: 'web',
      port: 8080,
      image: { reference: 'r/x:1' },
      applyImmediately: true,
    };
    world.apply('HostedApp', 'web', web);
    await world.run(130_000);
    const from = await newest(world);
    world.delete('HostedApp', 'web');
    await world.run(5_000);
    world.apply('HostedApp', 'web', web);
    await world.run(1_300_000);

    expect(await commits(world, from)).toEqual([]);
    expect(conditionOf(world, 'HostedApp', 'web')).toBe('True/InSync');
    expect(statusOf(world, 'HostedApp', 'web')['pendingChanges']).toBeUndefined();
    expect(statusOf(world, 'HostedApp', 'web')['unverified']).toEqual(['image.reference']);
  });
});
