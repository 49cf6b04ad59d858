import { describe, expect, it } from 'vitest';
import { hostedApp } from '../../../src/kinds/hosted-app/hosted-app.ts';
import type { HostedAppFacts } from '../../../src/kinds/hosted-app/schema.ts';
import { appOf, appsOf, type AppRecord } from '../../../src/hosting/requests.ts';
import { bound, git, image, imageApplied, presets, shownApp, shownDeployed, source } from '../support/apps.ts';
import { anEnvironment } from '../support/environments.ts';
import { aPass, callIn, inShort, settledStep, shows, type PassOptions } from '../support/pass.ts';

interface Row extends PassOptions<HostedAppFacts> {
  readonly because: string;
  readonly body: object;
}

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
    spec: { ...source, source: { ...source.source, builder: 'NIXPACKS' } },
    shown: shownApp(git),
    memory: bound({ port: 8080 }),
    body: { builder: 'NIXPACKS' },
  },
  {
    because: 'the registry credential of the image',
    spec: { ...image, image: { ...image.image, pullSecretId: 'cred_1' } },
    memory: bound(imageApplied),
    body: { imagePullAccountSecretId: 'cred_1' },
  },
  {
    because: 'the registry credential of base images',
    spec: { ...source, source: { ...source.source, pullSecretId: 'cred_2' } },
    shown: shownApp(git),
    memory: bound({ port: 8080 }),
    body: { buildPullAccountSecretId: 'cred_2' },
  },
  {
    because: 'registry credentials that are wanted no longer are cleared with the empty string',
    spec: image,
    memory: bound({ ...imageApplied, 'image.pullSecretId': 'cred_1', 'source.pullSecretId': 'cred_2' }),
    body: { imagePullAccountSecretId: '', buildPullAccountSecretId: '' },
  },
  {
    because: 'a health check that is wanted no longer is cleared as the interface clears it',
    spec: image,
    memory: bound({ ...imageApplied, 'healthCheck.path': '/', 'healthCheck.headers': { a: 'b' } }),
    body: { healthCheckPath: '', healthCheckHeaders: {} },
  },
  {
    because: 'a Dockerfile from a ConfigMap in the place of a path',
    spec: {
      ...source,
      source: {
        ...source.source,
        dockerfile: { valueFrom: { configMapKeyRef: { name: 'files', key: 'Dockerfile' } } },
      },
    },
    configMaps: { 'files/Dockerfile': 'FROM scratch' },
    shown: shownApp(git),
    memory: bound({ port: 8080 }),
    body: { customDockerfileContent: 'FROM scratch' },
  },
  {
    because: 'back to a path',
    spec: { ...source, source: { ...source.source, dockerfilePath: 'Dockerfile.prod' } },
    shown: shownApp({ ...git, customDockerfileContentInUse: true, dockerfilePath: undefined }),
    memory: bound({ port: 8080, 'source.dockerfile': 'FROM scratch' }),
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
    because: 'somebody made it build from source: the image goes along',
    spec: image,
    subject: { generation: 1 },
    shown: shownApp({ useImage: false }),
    memory: bound(imageApplied),
    body: { useImage: true, image: 'r/mine:1' },
  },
  {
    because: 'to CUSTOM: the Dockerfile goes along, or the usual path would take its place',
    spec: {
      ...source,
      source: {
        ...source.source,
        dockerfile: { valueFrom: { configMapKeyRef: { name: 'files', key: 'Dockerfile' } } },
      },
    },
    configMaps: { 'files/Dockerfile': 'FROM scratch' },
    shown: shownApp({ ...git, dockerPreset: 'NEXT_JS', customDockerfileContentInUse: true, dockerfilePath: undefined }),
    memory: bound({ port: 8080, 'source.dockerfile': 'FROM scratch' }),
    body: { dockerPreset: 'CUSTOM', customDockerfileContent: 'FROM scratch' },
  },
  {
    because: 'one setting of a job: the settings go as a whole',
    spec: { preset: 'JOB', image: { reference: 'r/mine:1' }, jobConfig: { command: 'migrate', backoffLimit: 3 } },
    shown: shownApp({ dockerPreset: 'JOB', port: undefined }),
    memory: bound({ 'image.reference': 'r/mine:1', 'jobConfig.command': 'migrate', 'jobConfig.backoffLimit': 2 }),
    body: { jobConfig: { command: 'migrate', backoffLimit: 3 } },
  },
  {
    because: 'a conversion to a function changes nothing else in its request',
    spec: { ...image, preset: 'FUNCTION', port: 9090 },
    memory: bound(imageApplied),
    body: { dockerPreset: 'FUNCTION' },
  },
];

const other: readonly (PassOptions<HostedAppFacts> & { because: string; comesTo: string })[] = [
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
    comesTo: 'ready DriftReported',
  },
  {
    because: 'it is taken over with another port, and drift is only reported',
    spec: { ...image, externalId: 'app_1', lifecycle: { drift: 'Report' } },
    shown: shownApp({ port: 1 }),
    comesTo: 'PATCH /app {"appId":"app_1","image":"r/mine:1"}',
  },
  {
    because: 'it is taken over by its name after a creation that made nothing, and drift is only reported',
    spec: { ...image, lifecycle: { drift: 'Report', adoption: 'ByName' } },
    account: { adoption: 'ByName' },
    memory: { applied: { generation: -1, fingerprints: { port: '?>' } } },
    shown: [...shownApp({ port: 1 }), shows(appOf('app_1'), [{ appId: 'app_1', name: 'mine' } as AppRecord])],
    comesTo: 'PATCH /app {"appId":"app_1","image":"r/mine:1"}',
  },
  {
    because: 'it is taken over and does not show its port, and drift is only reported',
    spec: { ...image, externalId: 'app_1', lifecycle: { drift: 'Report' } },
    shown: shownApp({ port: undefined, useImage: false }),
    comesTo: 'PATCH /app {"appId":"app_1","port":8080,"image":"r/mine:1"}',
  },
  {
    because: 'it was taken over with another port, and drift is only reported',
    spec: { preset: 'JOB', source: { cliDeployment: true }, externalId: 'app_1', lifecycle: { drift: 'Report' } },
    shown: shownApp({ dockerPreset: 'CUSTOM', isCliDeployment: true, useImage: false }),
    comesTo: 'ready DriftReported',
  },
  {
    because: 'the list shows a newer time than the record that was read',
    spec: image,
    shown: shownApp({}, 5).filter(({ read }) => !read.key.startsWith('appAsOf')),
    memory: bound(imageApplied),
    comesTo: 'read appAsOf/app_1/5',
  },
  {
    because: 'the answer to a change was lost, and the record was read before',
    spec: image,
    shown: shownApp().map((snapshot) => ({
      ...snapshot,
      begunAt: snapshot.read.key.startsWith('appAsOf') ? 1_000 : 3_000,
    })),
    memory: bound(imageApplied),
    with: { notes: { staleBefore: 2_000 } },
    comesTo: 'read appAsOf/app_1/5',
  },
  {
    because: 'the list does not show the repository, and the record does',
    spec: source,
    shown: shownApp(git).map(({ read, items }) => ({
      read,
      items: read.key === 'apps' ? [{ ...(items[0] as object), gitRepo: undefined, gitNamespace: undefined }] : items,
    })),
    memory: bound({ port: 8080 }),
    comesTo: 'ready InSync',
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

const reported = { ...imageApplied, 'source.builder': 'DOCKER' };
const related = {
  name: 'AppEnvironment team/prod',
  namespace: 'team',
  ownership: 'Adopted',
  facts: {},
  takenUp: true,
  inDoubt: false,
  finished: false,
} as const;
const otherImage = { ...image, image: { reference: 'r/mine:2' } };

describe('an app', () => {
  it.each(changes)('is sent only what differs: $because', ({ body, ...options }) => {
    const call = callIn(settledStep(hostedApp, { shown: shownApp(), subject: { generation: 2 }, ...options }));

    expect(call.request.endpoint).toBe('PATCH /app');
    expect(call.request.body).toEqual({ appId: 'app_1', ...body });
  });

  it.each(other)('comes to rest or to the right call: $because', ({ comesTo, ...options }) => {
    expect(inShort(settledStep(hostedApp, { shown: shownApp(), ...options }))).toBe(comesTo);
  });

  it.each([
    [
      'what creation does not take',
      { ...image, healthCheck: { path: '/up' } },
      imageApplied,
      { healthCheckPath: '/up' },
    ],
    ['an edit, and leaves the drift beside it', { ...image, port: 9090 }, reported, { port: 9090 }],
    ['what it never shows, and leaves the drift beside it', otherImage, reported, { image: 'r/mine:2' }],
  ])('is sent, though drift is only reported: %s', (_what, spec, applied, body) => {
    const call = callIn(
      settledStep(hostedApp, {
        spec: { ...spec, lifecycle: { drift: 'Report' } },
        shown: shownApp({ dockerPreset: 'NEXT_JS' }),
        memory: { ...bound({ ...applied, name: 'mine', preset: 'CUSTOM', useImage: true }) },
        subject: { generation: 2 },
      }),
    );

    expect(call.request.body).toEqual({ appId: 'app_1', ...body });
  });

  it('has not applied its spec as a whole before what creation does not take was sent', () => {
    const spec = { ...image, healthCheck: { path: '/up' }, lifecycle: { drift: 'Report' } };
    const made = callIn(settledStep(hostedApp, { spec, shown: [shows(appsOf('acc_1'), []), ...presets] }));
    const memory = { ...made.committed({ appId: 'app_1' }) };

    expect(inShort(settledStep(hostedApp, { spec, shown: shownApp(), memory }))).toBe(
      'PATCH /app {"appId":"app_1","healthCheckPath":"/up"}',
    );
  });

  it('suggests the nearest preset', () => {
    const step = settledStep(hostedApp, { spec: { ...image, preset: 'NEXTJS' }, shown: shownApp() });

    expect(step).toMatchObject({
      message: 'the account does not offer the preset NEXTJS of the spec; did you mean NEXT_JS?',
    });
  });

  const theirs = { ...related, id: undefined, takenUp: false };
  const meant = { deploy: { image: 'r/mine:3' } };

  it.each([
    [
      'refers to the app, and whose environment is still to come',
      { appRef: { name: 'mine' }, environmentName: 'next' },
    ],
    ['names the app and the environment', { appRef: { externalId: 'app_1' }, environmentName: anEnvironment().name }],
    ['names the environment alone', { cliEnvironmentName: anEnvironment().cliEnvName }],
    ['names its id', { externalId: anEnvironment().appEnvId }],
  ])('counts its image as sent where an AppEnvironment deploys one of its own that %s', (_which, names) => {
    const options = {
      spec: otherImage,
      shown: shownDeployed(),
      memory: bound(imageApplied),
    };
    const inAccount = () => [{ ...theirs, spec: { ...names, ...meant } }];
    const step = settledStep(hostedApp, { ...options, with: { inAccount } });
    expect(inShort(step)).toBe('ready InSync');

    const observes = () => [{ ...theirs, spec: { ...names, ...meant, lifecycle: { managementPolicy: 'Observe' } } }];
    expect(inShort(settledStep(hostedApp, { ...options, with: { inAccount: observes } }))).toContain('PATCH /app');
  });

  it.each([
    [-210_000, 1, 'PATCH /app'],
    [-190_000, 1, 'wait EnvironmentInDoubt'],
    [-210_000, 2, 'wait EnvironmentInDoubt'],
  ])('waits for a deployment in doubt as long as it may arrive (since %i, attempt %i)', (since, begunMs, comesTo) => {
    const step = settledStep(hostedApp, {
      spec: { ...image, port: 9090 },
      shown: shownDeployed(),
      memory: bound(imageApplied),
      with: {
        related: (kind, id) =>
          kind === 'AppEnvironment' ? [{ ...related, spec: {}, id, inDoubt: true, begunMs }] : [],
        notes: { beside: { begunMs: 1, since } },
      },
    });

    expect(inShort(step)).toContain(comesTo);
  });

  it.each([
    [
      'of another namespace',
      { namespace: 'prod', spec: { appRef: { name: 'mine' }, environmentName: 'next', ...meant } },
    ],
    ['of a component of a solution', { spec: { solutionRef: { name: 'shop' }, component: 'web', ...meant } }],
  ])('sends its image past an AppEnvironment %s', (_which, other) => {
    const item = { ...anEnvironment(), cliEnvName: undefined };
    const step = settledStep(hostedApp, {
      spec: otherImage,
      shown: shownDeployed({}, item),
      memory: bound(imageApplied),
      with: { inAccount: () => [{ ...theirs, ...other }] },
    });

    expect(inShort(step)).toContain('PATCH /app');
  });

  it('does not send its image where an AppEnvironment that names the environment by its id deploys one of its own', () => {
    const step = settledStep(hostedApp, {
      spec: otherImage,
      shown: shownDeployed(),
      memory: bound(imageApplied),
      with: { related: (_kind, id) => [{ ...related, id, spec: { deploy: { image: 'r/mine:3' } } }] },
    });

    expect(inShort(step)).toBe('ready InSync');
  });

  it('does not apply a pending image at once where an AppEnvironment deploys one of its own', () => {
    const memory = {
      ...bound({ ...imageApplied, 'image.reference': 'r/mine:2' }),
      facts: { pendingChanges: ['image.reference', 'port'] },
    };
    const options = {
      spec: { ...otherImage, applyImmediately: true },
      shown: shownDeployed(),
      memory,
    };
    const owner = { ...related, id: anEnvironment().appEnvId, spec: meant };

    expect(inShort(settledStep(hostedApp, { ...options, with: { related: () => [owner] } }))).toBe(
      'PATCH /app {"appId":"app_1","port":8080,"applyImmediately":true}',
    );
    expect(inShort(settledStep(hostedApp, options))).toContain('"image":"r/mine:2"');
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

    expect(learned?.facts).toMatchObject({ pendingChanges: ['port'], environmentsAffected: 2 });
    expect(inShort(again)).toBe('PATCH /app {"appId":"app_1","port":9090,"applyImmediately":true}');
    expect(callIn(again).committed({})?.facts?.pendingChanges).toBeUndefined();
  });

  it('keeps what cannot be cleared, and says so', () => {
    const memory = bound({
      ...imageApplied,
      'healthCheck.port': 1,
      'source.builder': 'NIXPACKS',
      'jobConfig.command': 'x',
    });

    const { leftover } = hostedApp.show(aPass(hostedApp, { spec: image, shown: shownApp(), memory }));

    expect(leftover?.toSorted()).toEqual(['healthCheck.port', 'jobConfig.command', 'source.builder']);
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
