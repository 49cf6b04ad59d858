import { accountChanges, inAccount, longer, type Verdicts } from './table.ts';

const image = { deploy: { image: 'registry.example.com/team/web:1' } };
const spec = { externalId: 'env_web_prod' };
const key = { name: 'a', key: 'b' };

/** Each field that says which environment is meant. */
const places = Object.entries({
  appRef: { environmentName: 'prod' },
  solutionRef: { component: 'queue' },
  environmentName: { appRef: { externalId: 'app_web' } },
  cliEnvironmentName: {},
  component: { solutionRef: { name: 'workers' } },
}).map(([name, rest]) => {
  const at = (value: string) => ({ ...rest, [name]: name.endsWith('Ref') ? { name: value } : value });
  return { because: `${name} stays`, from: at('a'), to: at('b'), says: `${name} cannot be changed` };
});

export const appEnvironment: Verdicts = {
  kind: 'AppEnvironment',
  accepted: [
    { because: 'an id alone', spec },
    inAccount(spec, { lifecycle: { managementPolicy: 'Observe', drift: 'Report' } }),
    { because: 'a name within an app of ours', spec: { appRef: { name: 'web' }, environmentName: 'prod' } },
    {
      because: 'a name within an app of the service',
      spec: { appRef: { externalId: 'app_web' }, environmentName: 'prod' },
    },
    {
      because: 'the name of the command line',
      spec: { appRef: { externalId: 'app_web' }, cliEnvironmentName: 'web-prod' },
    },
    { because: 'a component', spec: { solutionRef: { name: 'workers' }, component: 'queue' } },
    {
      because: 'everything with an image',
      spec: {
        ...spec,
        powerState: 'Running',
        deploy: { ...image.deploy, onBind: 'Deploy' },
        env: [
          { name: 'A', value: '' },
          { name: 'B', valueFrom: { configMapKeyRef: key } },
          { name: 'C', valueFrom: { secretKeyRef: key } },
        ],
        functionConfig: {
          containerConcurrency: 1,
          timeoutSeconds: 60,
          idleTimeoutSeconds: 60,
          responseStartTimeoutSeconds: 60,
          minScale: 0,
          maxScale: 3,
        },
        startupConfig: { command: 'node', args: ['a'], shell: false, workingDir: '/app' },
      },
    },
    {
      because: 'a build',
      spec: {
        ...spec,
        deploy: { build: { revision: 'abc', forceNewBuild: true, rebuild: true, fromContentId: 'content_1' } },
        startupConfig: { args: [] },
      },
    },
    { because: 'an empty list needs no image', spec: { ...spec, env: [] } },
    { because: 'a roll-back', spec: { ...spec, deploy: { rollbackContentId: 'content_1' } } },
  ],
  refused: [
    {
      because: 'no environment',
      spec: { appRef: { name: 'web' } },
      says: 'set exactly one of environmentName, cliEnvironmentName, externalId, component',
    },
    {
      because: 'two environments',
      spec: { ...spec, cliEnvironmentName: 'x' },
      says: 'set exactly one of environmentName, cliEnvironmentName, externalId, component',
    },
    {
      because: 'two apps',
      spec: { appRef: { name: 'a', externalId: 'b' }, environmentName: 'prod' },
      says: 'set exactly one of name, externalId',
    },
    {
      because: 'an app and a solution',
      spec: { ...spec, appRef: { name: 'a' }, solutionRef: { name: 'b' } },
      says: 'set at most one of appRef, solutionRef',
    },
    {
      because: 'a name needs its app',
      spec: { environmentName: 'prod' },
      says: 'environmentName needs appRef',
    },
    {
      because: 'a component needs its solution',
      spec: { component: 'queue' },
      says: 'set both component and solutionRef, or neither',
    },
    {
      because: 'a solution is not enough',
      spec: { ...spec, solutionRef: { name: 'a' } },
      says: 'set both component and solutionRef, or neither',
    },
    {
      because: 'two deployments',
      spec: { ...spec, deploy: { image: 'a', rollbackContentId: 'b' } },
      says: 'set at most one of image, build, rollbackContentId',
    },
    {
      because: 'variables travel with an image',
      spec: { ...spec, env: [{ name: 'A', value: 'b' }] },
      says: 'env needs deploy.image',
    },
    {
      because: 'not with a build',
      spec: { ...spec, deploy: { build: { revision: 'a' } }, env: [{ name: 'A', value: 'b' }] },
      says: 'env needs deploy.image',
    },
    {
      because: 'so do function settings',
      spec: { ...spec, functionConfig: { minScale: 1 } },
      says: 'functionConfig needs deploy.image',
    },
    {
      because: 'fewer containers at least than at most',
      spec: { ...spec, ...image, functionConfig: { minScale: 3, maxScale: 2 } },
      says: 'minScale must not be greater than maxScale',
    },
    {
      because: 'a start travels with a deployment',
      spec: { ...spec, startupConfig: { command: 'a' } },
      says: 'startupConfig needs deploy.image or deploy.build',
    },
    {
      because: 'a roll-back carries none',
      spec: { ...spec, deploy: { rollbackContentId: 'a' }, startupConfig: { command: 'a' } },
      says: 'startupConfig needs deploy.image or deploy.build',
    },
    {
      because: 'an empty start',
      spec: { ...spec, ...image, startupConfig: {} },
      says: 'startupConfig needs command, args or workingDir',
    },
    {
      because: 'a shell runs a command',
      spec: { ...spec, ...image, startupConfig: { args: ['a'], shell: true } },
      says: 'shell needs command',
    },
    {
      because: 'a variable twice',
      spec: {
        ...spec,
        ...image,
        env: [
          { name: 'A', value: 'b' },
          { name: 'A', value: 'c' },
        ],
      },
      says: 'Duplicate value',
    },
    {
      because: 'a variable without a value',
      spec: { ...spec, ...image, env: [{ name: 'A' }] },
      says: 'set exactly one of value, valueFrom',
    },
    {
      because: 'a variable from two places',
      spec: { ...spec, ...image, env: [{ name: 'A', valueFrom: { secretKeyRef: key, configMapKeyRef: key } }] },
      says: 'set exactly one of secretKeyRef, configMapKeyRef',
    },
    {
      because: 'a long value',
      spec: { ...spec, ...image, env: [{ name: 'A', value: longer(16_384) }] },
      says: 'may not be more than 16384',
    },
    {
      because: 'an environment cannot be deleted',
      spec: { ...spec, lifecycle: { onDelete: 'Delete' } },
      says: 'unknown field "spec.lifecycle.onDelete"',
    },
  ],
  changes: [
    ...accountChanges(spec),
    {
      because: 'another environment is another resource',
      from: spec,
      to: { externalId: 'env_other' },
      says: 'externalId cannot be changed; delete this resource',
    },
    {
      because: 'also by another name',
      from: spec,
      to: { appRef: { externalId: 'app_web' }, cliEnvironmentName: 'x' },
      says: 'cannot be changed; delete this resource',
    },
    ...places,
    {
      because: 'what runs may change',
      from: { ...spec, ...image },
      to: { ...spec, deploy: { rollbackContentId: 'c' }, powerState: 'Stopped' },
    },
  ],
};
