import { describe, expect, it } from 'vitest';
import { appsOf } from '../../../src/hosting/requests.ts';
import { hostedApp } from '../../../src/kinds/hosted-app/hosted-app.ts';
import type { HostedAppFacts } from '../../../src/kinds/hosted-app/schema.ts';
import { bound, image, presets, shownApp } from '../support/apps.ts';
import { aPass, callIn, settledStep, shows, type PassOptions } from '../support/pass.ts';

interface Row extends PassOptions<HostedAppFacts> {
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
      atCreation: { presetVersion: 'NEXT_JS_NODE_JS_22' },
      port: 3000,
      source: {
        git: { namespace: 'team', repo: 'mine', installationId: '7' },
        contextDir: './web',
        dockerfilePath: 'deploy/Dockerfile',
        buildArgs: 'A=1',
        builder: 'NIXPACKS',
      },
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
    spec: {
      port: 80,
      source: {
        cliDeployment: true,
        dockerfile: { valueFrom: { configMapKeyRef: { name: 'files', key: 'Dockerfile' } } },
      },
    },
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
      atCreation: {
        database: { containers: 2, disk: 20, withPersistence: true, settings: { max_connections: '200', ssl: 'true' } },
      },
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
      jobConfig: {
        command: 'migrate',
        shell: true,
        backoffLimit: 2,
        concurrency: { settingName: 'concurrencyPolicy', value: '1' },
      },
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

describe('an app', () => {
  it.each(creations)('is created from $because', ({ body, ...options }) => {
    const shown = [...presets, shows(appsOf('acc_1'), [])];
    const call = callIn(settledStep(hostedApp, { shown, ...options }));

    expect(call.request.endpoint).toBe('POST /app');
    expect(call.request.body).toEqual({ accountId: 'acc_1', ...body });
    expect(call.journal?.create).toEqual({ collection: 'apps', name: expect.any(String), excluded: [] });
  });

  it.each(['Adopted', 'Created'] as const)(
    'tells what only creation takes as unverified, since it never shows (%s)',
    (ownership) => {
      const database = { containers: 3, disk: 500, settings: { max_connections: '900' } };
      const spec = { preset: 'POSTGRESQL', port: 5432, atCreation: { presetVersion: 'POSTGRESQL_9', database } };
      const memory = { ...bound({ port: 5432 }), ownership };
      const shown = shownApp({ dockerPreset: 'POSTGRESQL', port: 5432 });

      const { unverified } = hostedApp.show(aPass(hostedApp, { spec, memory, shown }));

      expect(unverified).toEqual([
        'atCreation.database.containers',
        'atCreation.database.disk',
        'atCreation.database.settings',
        'atCreation.presetVersion',
      ]);
    },
  );
});
