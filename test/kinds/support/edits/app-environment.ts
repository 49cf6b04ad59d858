import { AppEnvironmentSpec as schema } from '../../../../src/kinds/app-environment/schema.ts';
import { environmentOf } from '../world.ts';
import { accountEdits, lifecycleEdits, quiet, refused, sent, type Edit, type Edits, type Spec } from './table.ts';

const bare = { externalId: 'env_{row}' };
const deployed = { ...bare, deploy: { image: 'r/x:1', onBind: 'Deploy' } };
const built = (build: Spec, more: Spec = {}): Spec => ({
  externalId: 'env_git_{row}',
  deploy: { build: { revision: 'one', ...build }, onBind: 'Deploy' },
  ...more,
});
const ofFunction = (functionConfig: Spec): Spec => ({ ...deployed, externalId: 'env_fn_{row}', functionConfig });
const withEnv = (...env: readonly Spec[]): Spec => ({ ...deployed, env });
const withStartup = (startupConfig: Spec): Spec => ({ ...deployed, startupConfig });
const fromSecret = (key: string) => ({ secretKeyRef: { name: 'values', key } });
const fromConfigMap = (key: string) => ({ configMapKeyRef: { name: 'files', key } });

const deployImage = (body: object) => sent('POST /app-env/deploy-image', { appEnvId: '{id}', image: 'r/x:1', ...body });
const fixed = refused('cannot be changed; delete this resource');

/** A place cannot be changed, nor left out. */
function placeRow(field: string, before: Spec, to: Spec): Edit {
  return { field, before, changed: { to, comes: fixed }, removed: { comes: refused('') } };
}

const named = { appRef: { name: 'a' }, environmentName: 'prod' };
const byId = (externalId: string) => ({ appRef: { externalId }, environmentName: 'prod' });
const component = { solutionRef: { name: 'a' }, component: 'api' };

const placeRows: readonly Edit[] = [
  placeRow('appRef', named, { ...named, appRef: { name: 'b' } }),
  placeRow('appRef.name', named, { ...named, appRef: { name: 'b' } }),
  placeRow('appRef.externalId', byId('a'), byId('b')),
  placeRow('environmentName', named, { ...named, environmentName: 'beta' }),
  placeRow('cliEnvironmentName', { cliEnvironmentName: 'a' }, { cliEnvironmentName: 'b' }),
  placeRow('externalId', { externalId: 'a' }, { externalId: 'b' }),
  placeRow('solutionRef', component, { ...component, solutionRef: { name: 'b' } }),
  placeRow('component', component, { ...component, component: 'worker' }),
];

const deployRows: readonly Edit[] = [
  {
    field: 'powerState',
    before: { ...bare, powerState: 'Running' },
    changed: { to: { ...bare, powerState: 'Stopped' }, comes: sent('POST /app-env/stop', { appEnvId: '{id}' }) },
    removed: { comes: quiet() },
  },
  {
    field: 'powerState',
    before: { ...bare, powerState: 'Stopped' },
    changed: { to: { ...bare, powerState: 'Running' }, comes: sent('POST /app-env/start', { appEnvId: '{id}' }) },
  },
  { field: 'deploy', before: deployed, removed: { comes: quiet() } },
  {
    field: 'deploy.image',
    before: deployed,
    changed: { to: { ...bare, deploy: { image: 'r/x:2' } }, comes: deployImage({ image: 'r/x:2' }) },
    removed: { comes: quiet() },
  },
  { field: 'deploy.build', before: built({}), removed: { comes: quiet() } },
  {
    field: 'deploy.build.revision',
    before: built({}),
    changed: { to: built({ revision: 'two' }), comes: sent('POST /app-env/build', { appEnvId: '{id}' }) },
  },
  {
    field: 'deploy.build.rebuild',
    before: built({ rebuild: false }),
    changed: { to: built({ rebuild: true }), comes: quiet() },
    removed: { comes: quiet() },
  },
  {
    field: 'deploy.build.revision',
    before: built({}),
    changed: {
      to: built({ revision: 'two', rebuild: true }),
      comes: sent('POST /app-env/build', { appEnvId: '{id}', isRebuild: true }),
    },
  },
  {
    field: 'deploy.build.revision',
    before: built({ forceNewBuild: true }),
    changed: {
      to: built({ revision: 'two', forceNewBuild: true }),
      comes: sent('POST /app-env/build', { appEnvId: '{id}', forceNewBuild: true }),
    },
  },
  {
    field: 'deploy.build.revision',
    before: built({}),
    changed: {
      to: built({ revision: 'two', fromContentId: '{built}' }),
      comes: sent('POST /app-env/build', { appEnvId: '{id}', isRebuild: true, fromContentId: '{built}' }),
    },
  },
  {
    field: 'deploy.build.forceNewBuild',
    before: built({ forceNewBuild: false }),
    changed: { to: built({ forceNewBuild: true }), comes: quiet() },
    removed: { comes: quiet() },
  },
  {
    field: 'deploy.build.fromContentId',
    before: built({}),
    changed: { to: built({ fromContentId: '{built}' }), comes: quiet() },
    removed: { to: built({}), comes: quiet() },
  },
  {
    field: 'deploy.rollbackContentId',
    before: deployed,
    changed: {
      to: { ...bare, deploy: { rollbackContentId: '{content}' } },
      comes: sent('POST /app-env/rollback', { appEnvId: '{id}', targetContentId: '{content}' }),
    },
  },
  {
    field: 'deploy.rollbackContentId',
    before: { ...bare, deploy: { rollbackContentId: '{content}' } },
    removed: { comes: quiet() },
  },
  {
    field: 'deploy.onBind',
    before: { ...bare, deploy: { image: 'r/x:1', onBind: 'Deploy' } },
    changed: { to: { ...bare, deploy: { image: 'r/x:1', onBind: 'Assume' } }, comes: quiet() },
    removed: { comes: quiet() },
  },
];

const variableRows: readonly Edit[] = [
  { field: 'env', before: withEnv({ name: 'A', value: '1' }), removed: { comes: quiet(), leftover: ['env.A'] } },
  {
    field: 'env[].name',
    before: withEnv({ name: 'A', value: '1' }),
    changed: { to: withEnv({ name: 'B', value: '1' }), comes: deployImage({ envVars: { B: '1' } }) },
  },
  {
    field: 'env[].value',
    before: withEnv({ name: 'A', value: '1' }, { name: 'B', value: '1' }),
    changed: {
      to: withEnv({ name: 'A', value: '1' }, { name: 'B', value: '2' }),
      comes: deployImage({ envVars: { B: '2' } }),
    },
    removed: { to: withEnv({ name: 'A', value: '1' }, { name: 'B' }), comes: refused('set exactly one of value') },
  },
  {
    field: 'env[].valueFrom',
    before: withEnv({ name: 'A', valueFrom: fromSecret('a') }),
    removed: { to: withEnv({ name: 'A', value: '1' }), comes: deployImage({ envVars: { A: '1' } }) },
  },
  {
    field: 'env[].valueFrom.secretKeyRef',
    before: withEnv({ name: 'A', valueFrom: fromSecret('a') }),
    changed: {
      to: withEnv({ name: 'A', valueFrom: fromSecret('b') }),
      comes: deployImage({ envVars: { A: 'secret b' } }),
    },
    removed: { to: withEnv({ name: 'A', valueFrom: {} }), comes: refused('set exactly one of secretKeyRef') },
  },
  {
    field: 'env[].valueFrom.configMapKeyRef',
    before: withEnv({ name: 'A', valueFrom: fromConfigMap('a') }),
    changed: {
      to: withEnv({ name: 'A', valueFrom: fromConfigMap('b') }),
      comes: deployImage({ envVars: { A: 'file b' } }),
    },
    removed: {
      to: withEnv({ name: 'A', valueFrom: fromSecret('a') }),
      comes: deployImage({ envVars: { A: 'secret a' } }),
    },
  },
];

const functionRows: readonly Edit[] = [
  {
    field: 'functionConfig',
    before: ofFunction({ minScale: 1 }),
    removed: { comes: quiet(), leftover: ['functionConfig.minScale'] },
  },
  ...[
    'containerConcurrency',
    'timeoutSeconds',
    'idleTimeoutSeconds',
    'responseStartTimeoutSeconds',
    'minScale',
    'maxScale',
  ].map((name) => ({
    field: `functionConfig.${name}`,
    before: ofFunction({ [name]: 2 }),
    changed: { to: ofFunction({ [name]: 3 }), comes: deployImage({ functionConfig: { [name]: 3 } }) },
    removed: { comes: quiet(), leftover: [`functionConfig.${name}`] },
  })),
];

const replaced = (startupConfig: object) => deployImage({ startupConfig, replaceStartupConfig: true });

/** One setting of the start; the declared override is the whole one. */
function startupRow(name: string, before: unknown, after: unknown): Edit {
  const whole = (value: unknown) => ({ command: 'node', workingDir: '/', [name]: value });
  const { [name]: _, ...rest } = whole(before) as Spec;
  const isCommand = name === 'command';
  return {
    field: `startupConfig.${name}`,
    before: withStartup(whole(before)),
    changed: { to: withStartup(whole(after)), comes: replaced(whole(after)) },
    removed: { to: withStartup(rest), comes: replaced(isCommand ? { workingDir: '/' } : rest) },
  };
}

const startupRows: readonly Edit[] = [
  {
    field: 'startupConfig',
    before: withStartup({ command: 'node' }),
    removed: { comes: deployImage({ clearStartupConfig: true }) },
  },
  startupRow('command', 'node', 'bun'),
  startupRow('args', ['a'], ['b']),
  startupRow('shell', true, false),
  startupRow('workingDir', '/a', '/b'),
  {
    field: 'startupConfig',
    before: built({}, { startupConfig: { command: 'node' } }),
    changed: { to: built({}, { startupConfig: { command: 'bun' } }), comes: quiet('True/PendingNextBuild') },
    removed: { comes: quiet('True/PendingNextBuild') },
  },
  {
    field: 'deploy.build.revision',
    before: built({}, { startupConfig: { command: 'node' } }),
    changed: {
      to: built({ revision: 'two' }, { startupConfig: { command: 'bun' } }),
      comes: sent('POST /app-env/build', {
        appEnvId: '{id}',
        startupConfig: { command: 'bun' },
        replaceStartupConfig: true,
      }),
    },
  },
];

/** Every field of an AppEnvironment. */
export const appEnvironmentEdits: Edits = {
  kind: 'AppEnvironment',
  schema,
  prepare: async (world, name) => {
    const at = { region: 'eu-west', status: 'running' };
    const git = { gitNamespace: 'team', gitRepo: name, gitInstallationId: '7' };
    const app = { accountId: 'acc_demo', name: `git-${name}`, port: 8080, ...git };
    const { appId } = (await world.request('POST', '/app', app)).body as { appId: string };
    const environment = (appEnvId: string, of: string, more: object = {}) =>
      world.control('POST', '/environments', { appEnvId, appId: of, name: appEnvId, ...at, ...more });
    await environment(`env_${name}`, 'app_web');
    await environment(`env_fn_${name}`, 'app_fn');
    await environment(`env_git_${name}`, appId, { gitBranch: 'main' });
    const firstOf = async (appEnvId: string) =>
      ((await environmentOf(world, appEnvId))['contents'] as readonly { contentId: string }[])[0]?.contentId ?? '';
    return { content: await firstOf(`env_${name}`), built: await firstOf(`env_git_${name}`) };
  },
  rows: [
    ...accountEdits(bare),
    ...lifecycleEdits(bare, {
      managementPolicy: ['Manage', 'Observe'],
      drift: ['Correct', 'Report'],
    }),
    ...placeRows,
    ...deployRows,
    ...variableRows,
    ...functionRows,
    ...startupRows,
  ],
};
