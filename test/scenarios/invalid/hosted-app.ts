import { accountChanges, inAccount, longer, type Verdicts } from './table.ts';

const image = { reference: 'registry.example.com/team/web:1' };
const key = { name: 'a', key: 'b' };
const git = { namespace: 'team', repo: 'web', installationId: '7' };
const spec = { port: 8080, image };
const built = { port: 8080, source: { git } };

export const hostedApp: Verdicts = {
  kind: 'HostedApp',
  accepted: [
    { because: 'an image', spec },
    inAccount(spec, { applyImmediately: true, image: { ...image, pullSecretId: 'sec_1' } }),
    { because: 'a Dockerfile by its path', spec: { port: 80, source: { git, dockerfilePath: 'Dockerfile' } } },
    {
      because: 'a Dockerfile from a Secret',
      spec: { port: 80, source: { git, dockerfile: { valueFrom: { secretKeyRef: key } } } },
    },
    {
      because: 'a header from a ConfigMap',
      spec: { ...spec, healthCheck: { headers: [{ name: 'Host', valueFrom: { configMapKeyRef: key } }] } },
    },
    {
      because: 'source from git',
      spec: { ...built, source: { ...built.source, builder: 'DOCKER', pullSecretId: 'sec_1' } },
    },
    {
      because: 'source from the command line',
      spec: { port: 80, source: { cliDeployment: true, contextDir: './web' } },
    },
    {
      because: 'a Dockerfile from a ConfigMap',
      spec: {
        port: 80,
        source: {
          git,
          dockerfile: { valueFrom: { configMapKeyRef: { name: 'web', key: 'Dockerfile' } } },
          buildArgs: 'A=1',
        },
      },
    },
    {
      because: 'a Dockerfile in the open',
      spec: { port: 80, source: { git, dockerfile: { value: 'FROM scratch' } } },
    },
    {
      because: 'a header in the open',
      spec: { ...spec, healthCheck: { headers: [{ name: 'Host', value: 'a' }] } },
    },
    {
      because: 'a job needs no port',
      spec: {
        preset: 'JOB',
        image,
        jobConfig: {
          command: 'migrate',
          shell: false,
          timeoutSeconds: 60,
          ttlSecondsAfterFinished: 60,
          backoffLimit: 1,
          concurrency: { settingName: 'concurrencyPolicy', value: 'Forbid' },
        },
      },
    },
    {
      because: 'a database has no source',
      spec: {
        preset: 'POSTGRESQL',
        port: 5432,
        atCreation: {
          presetVersion: 'POSTGRESQL_17',
          database: { containers: 2, disk: 10, withPersistence: true, settings: { max_connections: '100' } },
        },
      },
    },
    {
      because: 'a database of the catalog that nobody knew',
      spec: { preset: 'NEW_DB', port: 1234, atCreation: { database: { disk: 1 } } },
    },
    { because: 'a database without settings', spec: { preset: 'REDIS', port: 6379 } },
    {
      because: 'health checks',
      spec: {
        ...spec,
        healthCheck: {
          path: '/',
          port: 81,
          headers: [{ name: 'Authorization', valueFrom: { secretKeyRef: { name: 'a', key: 'b' } } }],
        },
      },
    },
    { because: 'an app that is there, whose image nobody knows', spec: { port: 80, externalId: 'app_web' } },
    {
      because: 'an adopted app',
      spec: {
        ...spec,
        externalId: 'app_web',
        lifecycle: {
          adoption: 'ById',
          onDelete: 'Delete',
          onMissing: 'Recreate',
          drift: 'Report',
          managementPolicy: 'Observe',
        },
      },
    },
    { because: 'other planes of Unicode count as one character', spec: { ...spec, name: '🙂'.repeat(128) } },
  ],
  refused: [
    { because: 'apps listen', spec: { image }, says: 'port is required unless preset is JOB' },
    { because: 'no origin', spec: { port: 80 }, says: 'set exactly one of source and image' },
    { because: 'two origins', spec: { ...built, image }, says: 'set exactly one of source and image' },
    {
      because: 'a database with two origins',
      spec: { ...built, image, preset: 'REDIS' },
      says: 'set exactly one of source and image',
    },
    {
      because: 'a database with an image',
      spec: { port: 5432, image, preset: 'POSTGRESQL' },
      says: 'a database must have neither source nor image',
    },
    {
      because: 'a database with a source',
      spec: { ...built, preset: 'MYSQL' },
      says: 'a database must have neither source nor image',
    },
    {
      because: 'a database of the catalog with an image',
      spec: { port: 1234, image, preset: 'NEW_DB', atCreation: { database: { disk: 1 } } },
      says: 'a database must have neither source nor image',
    },
    { because: 'source of nothing', spec: { port: 80, source: {} }, says: 'source needs git or cliDeployment: true' },
    {
      because: 'source from two places',
      spec: { port: 80, source: { git, cliDeployment: true } },
      says: 'source needs git or cliDeployment: true',
    },
    {
      because: 'cliDeployment: false is nothing',
      spec: { port: 80, source: { cliDeployment: false } },
      says: 'source needs git or cliDeployment: true',
    },
    {
      because: 'two Dockerfiles',
      spec: {
        port: 80,
        source: { git, dockerfilePath: 'a', dockerfile: { valueFrom: { configMapKeyRef: { name: 'a', key: 'b' } } } },
      },
      says: 'set at most one of dockerfilePath, dockerfile',
    },
    {
      because: 'job settings of an app',
      spec: { ...spec, jobConfig: { command: 'x' } },
      says: 'jobConfig is only allowed when preset is JOB',
    },
    {
      because: 'a concurrency setting that is called like another one',
      spec: { image, preset: 'JOB', jobConfig: { command: 'x', concurrency: { settingName: 'command', value: 'y' } } },
      says: 'jobConfig.concurrency.settingName must not be the name of another setting of jobConfig',
    },
    {
      because: 'database settings of an app',
      spec: { ...spec, atCreation: { database: { disk: 1 } } },
      says: 'atCreation.database is only allowed when preset names a database',
    },
    {
      because: 'CouchDB is one node',
      spec: { preset: 'COUCHDB', port: 5984, atCreation: { database: { containers: 2 } } },
      says: 'atCreation.database.containers must be 1',
    },
    {
      because: 'the name of a setting',
      spec: { preset: 'REDIS', port: 6379, atCreation: { database: { settings: { [longer(128)]: '1' } } } },
      says: 'each name must have at most 128 characters',
    },
    { because: 'a port', spec: { ...spec, port: 65_536 }, says: 'less than or equal to 65535' },
    {
      because: 'a value from two places',
      spec: {
        ...spec,
        healthCheck: {
          headers: [
            {
              name: 'A',
              valueFrom: { secretKeyRef: { name: 'a', key: 'b' }, configMapKeyRef: { name: 'a', key: 'b' } },
            },
          ],
        },
      },
      says: 'set exactly one of secretKeyRef, configMapKeyRef',
    },
    {
      because: 'a header twice',
      spec: {
        ...spec,
        healthCheck: {
          headers: [1, 2].map(() => ({ name: 'A', valueFrom: { secretKeyRef: { name: 'a', key: 'b' } } })),
        },
      },
      says: 'Duplicate value',
    },
    {
      because: 'a Dockerfile without content',
      spec: { port: 80, source: { git, dockerfile: {} } },
      says: 'set exactly one of value, valueFrom',
    },
    {
      because: 'a Dockerfile from two places',
      spec: { port: 80, source: { git, dockerfile: { valueFrom: { secretKeyRef: key, configMapKeyRef: key } } } },
      says: 'set exactly one of secretKeyRef, configMapKeyRef',
    },
    {
      because: 'a header without a value',
      spec: { ...spec, healthCheck: { headers: [{ name: 'A' }] } },
      says: 'set exactly one of value, valueFrom',
    },
    { because: 'a long name', spec: { ...spec, name: '🙂'.repeat(129) }, says: 'may not be more than 128' },
    {
      because: 'an unknown way to delete',
      spec: { ...spec, lifecycle: { onDelete: 'Orphan' } },
      says: 'supported values: "Delete", "Retain"',
    },
  ],
  changes: [
    ...accountChanges(spec),
    { because: 'an image may replace the source', from: built, to: spec },
    { because: 'source cannot come back with git', from: spec, to: built, says: 'cannot be added or changed later' },
    {
      because: 'git cannot change',
      from: built,
      to: { port: 80, source: { git: { ...git, repo: 'other' } } },
      says: 'cannot be added or changed later',
    },
    { because: 'the rest of source can', from: built, to: { port: 80, source: { git, contextDir: 'web' } } },
    {
      because: 'git cannot become the command line',
      from: built,
      to: { port: 80, source: { cliDeployment: true } },
      says: 'cannot be added or changed later',
    },
    {
      because: 'the version is for creation',
      from: spec,
      to: { ...spec, atCreation: { presetVersion: '2' } },
      says: 'atCreation cannot be changed',
    },
    {
      because: 'so are sizes',
      from: { preset: 'REDIS', port: 1, atCreation: { database: { disk: 1 } } },
      to: { preset: 'REDIS', port: 1, atCreation: { database: { disk: 2 } } },
      says: 'atCreation cannot be changed',
    },
    {
      because: 'an app keeps its name',
      from: { ...spec, name: 'a' },
      to: { ...spec, name: 'b' },
      says: 'the service cannot rename an app',
    },
    {
      because: 'its default name too',
      from: spec,
      to: { ...spec, name: 'b' },
      says: 'the service cannot rename an app',
    },
    {
      because: 'an app with an image becomes no database',
      from: { ...spec, preset: 'CUSTOM' },
      to: { ...spec, preset: 'REDIS' },
      says: 'a database must have neither source nor image',
    },
    {
      because: 'everything else moves',
      from: spec,
      to: { port: 81, image: { reference: 'a/b' }, applyImmediately: true },
    },
  ],
};
