import { describe, expect, it } from 'vitest';
import { hostedApp } from '../../src/kinds/hosted-app.ts';
import type { Facts } from '../../src/kinds/schema/hosted-app.ts';
import type { Memory } from '../../src/engine/kind/step.ts';
import {
  appAsOf,
  appEnvsOf,
  appOf,
  appPresetsOf,
  appsOf,
  databasePresetsOf,
  type AppEnvItem,
  type AppItem,
  type AppRecord,
  type PresetItem,
} from '../../src/hosting/requests.ts';
import { aPass, callIn, inShort, print, settledStep, shows, type PassOptions, type Shown } from './support/pass.ts';
import { aWorld, commits, conditionOf, eventsOf, messageOf, statusOf, writesSince } from './support/world.ts';

const presets: readonly Shown[] = [
  shows(
    appPresetsOf(),
    ['CUSTOM', 'NEXT_JS', 'FUNCTION', 'JOB'].map((name) => ({ name }) as PresetItem),
  ),
  shows(
    databasePresetsOf(),
    ['POSTGRESQL', 'COUCHDB'].map((name) => ({ name }) as PresetItem),
  ),
];

const record = {
  appId: 'app_1',
  name: 'mine',
  dockerPreset: 'CUSTOM',
  contextDir: './',
  dockerfilePath: 'Dockerfile',
  customDockerfileContentInUse: false,
  useImage: true,
  port: 8080,
  builder: 'DOCKER',
  isCliDeployment: false,
} as unknown as AppRecord;

/** An app as the service shows it, in its list and by itself. */
function shownApp(change: Partial<AppRecord> = {}, updatedAtMs = 5): readonly Shown[] {
  const whole = { ...record, ...change };
  const { appId, name, slug, dockerPreset, gitNamespace, gitRepo } = whole;
  const item = { appId, name, slug, dockerPreset, gitNamespace, gitRepo, createdAtMs: 1, updatedAtMs } as AppItem;
  return [
    shows(appsOf('acc_1'), [item]),
    shows(appAsOf('app_1', updatedAtMs), [whole]),
    shows(appEnvsOf('acc_1'), [] as AppEnvItem[]),
    ...presets,
  ];
}

const image = { port: 8080, image: { reference: 'r/mine:1' } };
const source = { port: 8080, source: { git: { namespace: 'team', repo: 'mine' } } };
const git = { gitNamespace: 'team', gitRepo: 'mine', useImage: false } as const;

/** What is remembered of a bound app to which these fields were applied. */
function bound(fields: Readonly<Record<string, unknown>> = {}, facts: Facts = {}): Partial<Memory<Facts>> {
  const prints = Object.entries(fields).map(([field, value]) => [field, print(value as never)]);
  return { id: 'app_1', ownership: 'Created', applied: { generation: 1, prints: Object.fromEntries(prints) }, facts };
}

const imageApplied = { 'image.reference': 'r/mine:1', port: 8080 };

interface Row extends PassOptions<Facts> {
  readonly because: string;
  readonly body: object;
}

const creations: readonly Row[] = [
  {
    because: 'an image',
    spec: image,
    body: { name: 'mine', dockerPreset: 'CUSTOM', port: 8080, useImage: true, image: 'r/mine:1' },
  },
  {
    because: 'a git source with everything that creation takes',
    spec: {
      name: 'Mine',
      preset: 'NEXT_JS',
      presetVersion: 'NEXT_JS_NODE_JS_22',
      port: 3000,
      source: {
        git: { namespace: 'team', repo: 'mine', installationId: '7' },
        contextDir: './web',
        dockerfilePath: 'deploy/Dockerfile',
        buildArgs: 'A=1',
      },
      builder: 'NIXPACKS',
    },
    body: {
      name: 'Mine',
      dockerPreset: 'NEXT_JS',
      dockerPresetVersion: 'NEXT_JS_NODE_JS_22',
      port: 3000,
      useImage: false,
      gitNamespace: 'team',
      gitRepo: 'mine',
      gitInstallationId: '7',
      contextDir: './web',
      dockerfilePath: 'deploy/Dockerfile',
      buildArgs: 'A=1',
    },
  },
  {
    because: "a source that the service's command line pushes, with a Dockerfile from a ConfigMap",
    spec: { port: 80, source: { cliDeployment: true, dockerfileFrom: { name: 'files', key: 'Dockerfile' } } },
    configMaps: { 'files/Dockerfile': 'FROM scratch' },
    body: {
      name: 'mine',
      dockerPreset: 'CUSTOM',
      port: 80,
      useImage: false,
      isCliDeployment: true,
      customDockerfileContent: 'FROM scratch',
    },
  },
  {
    because: 'a database with its size and settings',
    spec: {
      preset: 'POSTGRESQL',
      port: 5432,
      database: { containers: 2, disk: 20, withPersistence: true, settings: { max_connections: '200', ssl: 'true' } },
    },
    body: {
      name: 'mine',
      dockerPreset: 'POSTGRESQL',
      port: 5432,
      containers: 2,
      disk: 20,
      withPersistence: true,
      databaseSettings: { max_connections: 200, ssl: true },
    },
  },
  {
    because: 'a job, which needs no port',
    spec: {
      preset: 'JOB',
      image: { reference: 'r/mine:1' },
      job: { command: 'migrate', shell: true, backoffLimit: 2, concurrency: { key: 'concurrencyPolicy', value: '1' } },
    },
    body: {
      name: 'mine',
      dockerPreset: 'JOB',
      useImage: true,
      image: 'r/mine:1',
      jobConfig: { command: 'migrate', shell: true, backoffLimit: 2, concurrencyPolicy: 1 },
    },
  },
];

const changes: readonly Row[] = [
  {
    because: 'another image',
    spec: { ...image, image: { reference: 'r/mine:2' } },
    memory: bound(imageApplied),
    body: { image: 'r/mine:2' },
  },
  { because: 'another port', spec: { ...image, port: 9090 }, memory: bound(imageApplied), body: { port: 9090 } },
  {
    because: 'applied at once',
    spec: { ...image, port: 9090, applyImmediately: true },
    memory: bound(imageApplied),
    body: { port: 9090, applyImmediately: true },
  },
  {
    because: 'a builder',
    spec: { ...image, builder: 'NIXPACKS' },
    memory: bound(imageApplied),
    body: { builder: 'NIXPACKS' },
  },
  {
    because: 'registry credentials',
    spec: { ...image, image: { ...image.image, pullSecretId: 'cred_1' }, buildPullSecretId: 'cred_2' },
    memory: bound(imageApplied),
    body: { imagePullAccountSecretId: 'cred_1', buildPullAccountSecretId: 'cred_2' },
  },
  {
    because: 'registry credentials that are wanted no longer are cleared with the empty string',
    spec: image,
    memory: bound({ ...imageApplied, 'image.pullSecretId': 'cred_1', buildPullSecretId: 'cred_2' }),
    body: { imagePullAccountSecretId: '', buildPullAccountSecretId: '' },
  },
  {
    because: 'a health check that is wanted no longer is cleared as the interface clears it',
    spec: image,
    memory: bound({ ...imageApplied, 'healthCheck.path': '/', 'healthCheck.headersFrom': { a: 'b' } }),
    body: { healthCheckPath: '', healthCheckHeaders: {} },
  },
  {
    because: 'a Dockerfile from a ConfigMap in the place of a path',
    spec: { ...source, source: { ...source.source, dockerfileFrom: { name: 'files', key: 'Dockerfile' } } },
    configMaps: { 'files/Dockerfile': 'FROM scratch' },
    shown: shownApp(git),
    memory: bound({ port: 8080 }),
    body: { customDockerfileContent: 'FROM scratch' },
  },
  {
    because: 'back to a path',
    spec: { ...source, source: { ...source.source, dockerfilePath: 'Dockerfile.prod' } },
    shown: shownApp({ ...git, customDockerfileContentInUse: true, dockerfilePath: undefined }),
    memory: bound({ port: 8080, 'source.dockerfileFrom': 'FROM scratch' }),
    body: { dockerfilePath: 'Dockerfile.prod' },
  },
  {
    because: 'a folder that is wanted no longer goes back to the usual one',
    spec: source,
    shown: shownApp({ ...git, contextDir: './web' }),
    memory: bound({ port: 8080, 'source.contextDir': './web' }),
    body: { contextDir: './' },
  },
  {
    because: 'from source to image: useImage in the same request',
    spec: image,
    shown: shownApp(git),
    memory: bound({ port: 8080 }),
    body: { useImage: true, image: 'r/mine:1' },
  },
  {
    because: 'one setting of a job: the settings go as a whole',
    spec: { preset: 'JOB', image: { reference: 'r/mine:1' }, job: { command: 'migrate', backoffLimit: 3 } },
    shown: shownApp({ dockerPreset: 'JOB', port: undefined }),
    memory: bound({ 'image.reference': 'r/mine:1', 'job.command': 'migrate', 'job.backoffLimit': 2 }),
    body: { jobConfig: { command: 'migrate', backoffLimit: 3 } },
  },
  {
    because: 'a conversion to a function changes nothing else in its request',
    spec: { ...image, preset: 'FUNCTION', port: 9090 },
    memory: bound(imageApplied),
    body: { dockerPreset: 'FUNCTION' },
  },
];

const other: readonly (PassOptions<Facts> & { because: string; comesTo: string })[] = [
  { because: 'a preset with a slip of a key', spec: { ...image, preset: 'NEXTJS' }, comesTo: 'stall UnknownPreset' },
  {
    because: 'another repository than the spec says',
    spec: source,
    shown: shownApp({ ...git, gitRepo: 'other' }),
    memory: bound({ port: 8080 }),
    comesTo: 'stall Immutable',
  },
  {
    because: 'somebody changed the port and drift is only reported',
    spec: { ...image, lifecycle: { drift: 'Report' } },
    shown: shownApp({ port: 1 }),
    memory: bound(imageApplied),
    comesTo: 'ready Observed',
  },
  {
    because: 'the list shows a newer time than the record that was read',
    spec: image,
    shown: shownApp({}, 5).filter(({ read }) => !read.key.startsWith('appAsOf')),
    memory: bound(imageApplied),
    comesTo: 'read appAsOf/app_1/5',
  },
  {
    because: 'nothing differs',
    spec: image,
    memory: bound(imageApplied),
    comesTo: 'ready InSync',
  },
  {
    because: 'an app that holds data does not come back by itself',
    spec: image,
    shown: [...presets, shows(appsOf('acc_1'), [], 70_000), shows(appOf('app_1'), [], 70_000)],
    memory: bound(imageApplied),
    with: { notes: { missedAt: 5_000 } },
    comesTo: 'stall ObjectGone',
  },
  {
    because: 'deleting the resource retains the app by default',
    spec: image,
    subject: { deleting: true },
    memory: bound(imageApplied),
    comesTo: 'release',
  },
  {
    because: 'an app that is only presumed to be ours is not deleted',
    spec: { ...image, lifecycle: { onDelete: 'Delete' } },
    subject: { deleting: true },
    memory: { ...bound(imageApplied), ownership: 'Presumed' },
    comesTo: 'release',
  },
  {
    because: 'deleting was chosen',
    spec: { ...image, lifecycle: { onDelete: 'Delete' } },
    subject: { deleting: true },
    memory: bound(imageApplied),
    comesTo: 'DELETE /app {"appId":"app_1"}',
  },
];

describe('an app', () => {
  it.each(creations)('is created from $because', ({ body, ...options }) => {
    const shown = [...presets, shows(appsOf('acc_1'), [])];
    const call = callIn(settledStep(hostedApp, { shown, ...options }));

    expect(call.request.endpoint).toBe('POST /app');
    expect(call.request.body).toEqual({ accountId: 'acc_1', ...body });
    expect(call.journal?.create).toEqual({ collection: 'apps', name: expect.any(String), excluded: [] });
  });

  it.each(changes)('is sent only what differs: $because', ({ body, ...options }) => {
    const call = callIn(settledStep(hostedApp, { shown: shownApp(), subject: { generation: 2 }, ...options }));

    expect(call.request.endpoint).toBe('PATCH /app');
    expect(call.request.body).toEqual({ appId: 'app_1', ...body });
  });

  it.each(other)('comes to rest or to the right call: $because', ({ comesTo, ...options }) => {
    expect(inShort(settledStep(hostedApp, { shown: shownApp(), ...options }))).toBe(comesTo);
  });

  it('suggests the nearest preset', () => {
    const step = settledStep(hostedApp, { spec: { ...image, preset: 'NEXTJS' }, shown: shownApp() });

    expect(step).toMatchObject({
      message: 'spec.preset NEXTJS is none of the presets of the account; did you mean NEXT_JS?',
    });
  });

  it('does not send its image where an environment deploys one of its own', () => {
    const step = settledStep(hostedApp, {
      spec: { ...image, image: { reference: 'r/mine:2' } },
      shown: shownApp(),
      memory: bound(imageApplied),
      referrers: () => [{ name: 'prod', spec: { deploy: { image: 'r/mine:3' } } }],
    });

    expect(inShort(step)).toBe('ready InSync');
  });

  it('remembers what waits in the environments, and sends it again once it is to be applied at once', () => {
    const first = callIn(
      settledStep(hostedApp, { spec: { ...image, port: 9090 }, shown: shownApp(), memory: bound(imageApplied) }),
    );
    const learned = first.committed({ appId: 'app_1', environmentsAffected: 2 });
    const memory = { ...bound({ ...imageApplied, port: 9090 }), facts: learned?.facts ?? {} };
    const again = settledStep(hostedApp, {
      spec: { ...image, port: 9090, applyImmediately: true },
      shown: shownApp({ port: 9090 }),
      memory,
    });

    expect(learned?.facts).toEqual({ pendingChanges: ['port'], environmentsAffected: 2 });
    expect(inShort(again)).toBe('PATCH /app {"appId":"app_1","port":9090,"applyImmediately":true}');
    expect(callIn(again).committed({})?.facts?.pendingChanges).toBeUndefined();
  });

  it('keeps what cannot be cleared, and says so', () => {
    const memory = bound({ ...imageApplied, 'healthCheck.port': 1, builder: 'NIXPACKS', 'job.command': 'x' });

    const { leftover } = hostedApp.show(aPass(hostedApp, { spec: image, shown: shownApp(), memory }));

    expect(leftover.toSorted()).toEqual(['builder', 'healthCheck.port', 'job.command']);
  });

  it('trusts its own write over a record that was read before it', () => {
    const step = settledStep(hostedApp, {
      spec: { ...image, port: 9090 },
      shown: shownApp(),
      memory: bound({ ...imageApplied, port: 9090 }),
      with: { wrote: { at: 2_000, fields: { port: 9090 } }, monotonicMs: 900_000 },
    });

    expect(inShort(step)).toBe('ready InSync');
  });
});

describe('HostedApp in a world', () => {
  it('shows the environments of the app as they come and change', async () => {
    const world = await aWorld();
    world.apply('HostedApp', 'api', image);
    await world.run(5_000);
    const { appId } = statusOf(world, 'HostedApp', 'api');
    await world.control('POST', '/environments', { appEnvId: 'env_api', appId, name: 'prod', region: 'eu-west' });
    await world.run(70_000);

    expect(statusOf(world, 'HostedApp', 'api')['environments']).toEqual([
      { id: 'env_api', name: 'prod', region: 'eu-west', status: 'stopped' },
    ]);
  });

  it('corrects what somebody changed within a poll', async () => {
    const world = await aWorld();
    world.apply('HostedApp', 'api', image);
    await world.run(70_000);
    const { appId } = statusOf(world, 'HostedApp', 'api');
    await world.request('PATCH', '/app', { appId, port: 1 });
    await world.run(70_000);

    const { body } = await world.request('GET', `/app?appId=${String(appId)}`);
    expect(body).toMatchObject({ port: 8080 });
    expect(await writesSince(world, 0)).toEqual(['POST /app 200', 'PATCH /app 200', 'PATCH /app 200']);
  });

  it('waits with its deletion while an environment is protected, and says why', async () => {
    const world = await aWorld();
    world.apply('HostedApp', 'api', { ...image, lifecycle: { onDelete: 'Delete' } });
    await world.run(5_000);
    const { appId } = statusOf(world, 'HostedApp', 'api');
    await world.control('POST', '/environments', {
      appEnvId: 'env_api',
      appId,
      name: 'prod',
      region: 'eu-west',
      preventDestroy: true,
    });
    world.delete('HostedApp', 'api');
    await world.run(40_000);
    const blocked = [conditionOf(world, 'HostedApp', 'api'), messageOf(world, 'HostedApp', 'api')];
    await world.control('PATCH', '/environments/env_api', { preventDestroy: false });
    await world.run(700_000);

    expect(blocked[0]).toBe('False/DeletionBlocked');
    expect(blocked[1]).toContain('preventDestroy');
    expect(world.get('HostedApp', 'api')).toBeUndefined();
  });

  it.each(['pending', 'failed'])('waits while the termination of sandboxes is %s', async (sandboxTermination) => {
    const world = await aWorld();
    world.apply('HostedApp', 'api', { ...image, lifecycle: { onDelete: 'Delete' } });
    await world.run(5_000);
    const { appId } = statusOf(world, 'HostedApp', 'api');
    await world.control('PATCH', `/apps/${String(appId)}`, { sandboxTermination });
    world.delete('HostedApp', 'api');
    await world.run(40_000);
    const blocked = conditionOf(world, 'HostedApp', 'api');
    await world.control('PATCH', `/apps/${String(appId)}`, { sandboxTermination: 'done' });
    await world.run(700_000);

    expect(blocked).toBe('False/DeletionBlocked');
    expect(world.get('HostedApp', 'api')).toBeUndefined();
  });

  it('tells by an event that the volumes of a deleted database stay', async () => {
    const world = await aWorld();
    world.apply('HostedApp', 'db', { preset: 'POSTGRESQL', port: 5432, lifecycle: { onDelete: 'Delete' } });
    await world.run(5_000);
    world.delete('HostedApp', 'db');
    await world.run(10_000);

    expect(world.get('HostedApp', 'db')).toBeUndefined();
    expect(eventsOf(world)).toContainEqual(expect.stringContaining('the volumes of this database stay in the service'));
  });

  it('presumes the app to be its own when the answer to its creation was lost, and writes again what is not shown', async () => {
    const world = await aWorld();
    let hit = false;
    world.interference = ({ method, path }) => {
      if (hit || method !== 'POST' || !path.endsWith('/app')) return undefined;
      hit = true;
      return 'loseAnswer';
    };
    world.apply('HostedApp', 'api', image);
    await world.run(10_000);

    expect(statusOf(world, 'HostedApp', 'api')).toMatchObject({ ownership: 'Presumed', appId: expect.any(String) });
    expect((await commits(world)).map(({ kind }) => kind)).toEqual(['app.created', 'app.updated']);
  });

  it('says until when a lost creation is in doubt', async () => {
    const world = await aWorld();
    let hit = false;
    world.interference = ({ method, path }) => {
      if (hit || method !== 'POST' || !path.endsWith('/app')) return undefined;
      hit = true;
      return 'loseBefore';
    };
    world.apply('HostedApp', 'api', image);
    await world.run(10_000);
    const doubt = [conditionOf(world, 'HostedApp', 'api'), messageOf(world, 'HostedApp', 'api')];
    await world.run(200_000);

    expect(doubt[0]).toBe('False/InDoubt');
    expect(doubt[1]).toMatch(/by 2026-01-01T00:0\d:\d\d/);
    expect(conditionOf(world, 'HostedApp', 'api')).toBe('True/InSync');
    expect((await commits(world)).map(({ kind }) => kind)).toEqual(['app.created']);
  });
});
