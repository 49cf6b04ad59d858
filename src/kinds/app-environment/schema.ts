import type { z } from 'zod';
import { drift, lifecycle, managementPolicy, specInAccount } from '../../engine/kind/schema/parts.ts';
import {
  atMostOne,
  exactlyOne,
  immutableFields,
  type Rule,
  withRule,
  choice,
  facts,
  fields,
  flag,
  handledToken,
  idAsShown,
  integer,
  listOf,
  number,
  objectOrIdRef,
  objectRef,
  serviceId,
  shown,
  text,
  time,
} from '../../engine/kind/schema/schema.ts';
import { namedValues, wholeNumber } from '../shared/schema.ts';

const Deploy = atMostOne(
  fields('What to deploy. Set at most one of image, build and rollbackContentId.', {
    image: text('The image to deploy, such as registry.example.com/team/web:1.2.', { min: 1, max: 1024 }).optional(),
    build: fields('Builds the git branch of the environment each time revision changes.', {
      revision: text('A value of your choice, such as a git commit. A new value starts a build.', { min: 1, max: 256 }),
      forceNewBuild: flag('True to build even if an image of the same source exists. Default: false.').optional(),
      rebuild: flag('True to rebuild the version that runs (API field: isRebuild). Default: false.').optional(),
      fromContentId: serviceId('The id of the content version to rebuild, instead of the running one.').optional(),
    }).optional(),
    rollbackContentId: serviceId(
      'The content version to roll back to (API field: targetContentId). The operator rolls back once for each new value; if that fails, the annotation redeploy-at asks for another try. Nothing is sent if this resource deployed that version last, or if onBind made the operator assume that the version already runs.',
    ).optional(),
    onBind: choice(
      'What to do if the environment already runs when this resource is bound to it. Assume: the operator assumes that the content in the spec already runs, and deploys nothing. Deploy: the operator deploys the spec. Default: Assume.',
      ['Assume', 'Deploy'],
    ).optional(),
  }),
  ['image', 'build', 'rollbackContentId'],
);

const upToAMillion = (description: string) => integer(description, { min: 0, max: 1_000_000 }).optional();

const FunctionConfig = withRule(
  fields(
    'Settings of a function (API field: functionConfig). The service keeps the values of settings that are left out.',
    {
      containerConcurrency: upToAMillion('Maximum number of requests that one container handles at the same time.'),
      timeoutSeconds: upToAMillion('Maximum duration of a request, in seconds.'),
      idleTimeoutSeconds: upToAMillion('Maximum pause within a response, in seconds.'),
      responseStartTimeoutSeconds: upToAMillion('Maximum time until a response begins, in seconds.'),
      minScale: upToAMillion('Minimum number of containers.'),
      maxScale: upToAMillion('Maximum number of containers.'),
    },
  ),
  {
    rule: '!has(self.minScale) || !has(self.maxScale) || self.minScale <= self.maxScale',
    message: 'minScale must not be greater than maxScale',
    fieldPath: '.minScale',
    check: ({ minScale = 0, maxScale = Number.POSITIVE_INFINITY }) => minScale <= maxScale,
  },
);

const StartupConfig = withRule(
  fields('Overrides how the container starts. Without a command, the entrypoint of the image stays.', {
    command: text('The command to run.', { min: 1, max: 16_384 }).optional(),
    args: listOf(
      'Arguments of the command. Without a command, they replace the default arguments of the image.',
      text('An argument of the command.', { max: 16_384 }),
      { max: 200 },
    ).optional(),
    shell: flag('True to run the command in a shell, false to run it directly. Default: true.').optional(),
    workingDir: text('The working directory. Default: that of the image.', { min: 1, max: 4096 }).optional(),
  }),
  {
    rule: 'has(self.command) || (!has(self.shell) && (has(self.args) || has(self.workingDir)))',
    message: 'startupConfig needs command, args or workingDir; shell needs command',
    check: ({ command, args, shell, workingDir }) =>
      command !== undefined || (shell === undefined && (args !== undefined || workingDir !== undefined)),
  },
);

const places = ['environmentName', 'cliEnvironmentName', 'externalId', 'component'] as const;
const owners = ['appRef', 'solutionRef'] as const;

const Fields = specInAccount('The environment to manage, and what runs in it.', {
  appRef: objectOrIdRef(
    'The HostedApp in this namespace that the environment belongs to, or an app by its id',
    'appId',
  ).optional(),
  environmentName: text('The name of the environment, within its app.', { min: 1, max: 256 }).optional(),
  cliEnvironmentName: text("The name of the environment in the service's CLI (API field: cliEnvName).", {
    min: 1,
    max: 256,
  }).optional(),
  externalId: serviceId('The id of the environment (API field: appEnvId).').optional(),
  solutionRef: objectRef('The SolutionInstallation in this namespace that the environment belongs to.').optional(),
  component: text('The component of the solution that the environment belongs to.', { min: 1, max: 256 }).optional(),
  powerState: choice('Running starts the environment, Stopped stops it. If absent, the environment stays as it is.', [
    'Running',
    'Stopped',
  ]).optional(),
  deploy: Deploy.optional(),
  env: namedValues(
    'Environment variables of the containers (API field: envVars). A change deploys the image again. The service keeps variables that are not listed here.',
    'A variable.',
    text('The name of the variable.', { min: 1, max: 256, pattern: '^[-._a-zA-Z][-._a-zA-Z0-9]*$' }),
    500,
  ),
  functionConfig: FunctionConfig.optional(),
  startupConfig: StartupConfig.optional(),
  lifecycle: lifecycle({ managementPolicy, drift }),
});

type Fields = z.output<typeof Fields>;

/**
 * Validation rules between fields of an AppEnvironment: an environment's name needs its app, and a field that is sent only
 * with a deployment needs a deployment.
 */
const rules: readonly Rule<Fields>[] = [
  {
    rule: '!has(self.environmentName) || has(self.appRef)',
    message: 'environmentName needs appRef, because the name of an environment identifies it only within its app',
    fieldPath: '.environmentName',
    check: (spec) => spec.environmentName === undefined || spec.appRef !== undefined,
  },
  {
    rule: 'has(self.component) == has(self.solutionRef)',
    message: 'set both component and solutionRef, or neither',
    check: (spec) => (spec.component !== undefined) === (spec.solutionRef !== undefined),
  },
  {
    rule: '!has(self.env) || self.env.size() == 0 || self.?deploy.?image.hasValue()',
    message: 'env needs deploy.image: the service accepts variables only together with an image',
    fieldPath: '.env',
    check: ({ env: variables = [], deploy }) => variables.length === 0 || deploy?.image !== undefined,
  },
  {
    rule: '!has(self.functionConfig) || self.?deploy.?image.hasValue()',
    message: 'functionConfig needs deploy.image: the service accepts functionConfig only together with an image',
    fieldPath: '.functionConfig',
    check: (spec) => spec.functionConfig === undefined || spec.deploy?.image !== undefined,
  },
  {
    rule: '!has(self.startupConfig) || self.?deploy.?image.hasValue() || self.?deploy.?build.hasValue()',
    message: 'startupConfig needs deploy.image or deploy.build: the service accepts it only with one of them',
    fieldPath: '.startupConfig',
    check: ({ startupConfig, deploy }) =>
      startupConfig === undefined || deploy?.image !== undefined || deploy?.build !== undefined,
  },
];

/** The spec of an AppEnvironment: one existing environment, and the image and settings to run in it. */
export const AppEnvironmentSpec = immutableFields(
  rules.reduce(withRule, exactlyOne(atMostOne(Fields, owners), places)),
  [...owners, ...places],
  'delete this resource, which leaves the environment as it is, and create another AppEnvironment',
);
export type AppEnvironmentSpec = z.output<typeof AppEnvironmentSpec>;

const Revision = {
  revision: text('What is deployed: the image, the revision of the build, or the content version.', {
    max: 1024,
  }).optional(),
  contentId: idAsShown('The id of the content version in the service.').optional(),
  sentTime: time(
    'Time at which the operator last began to send the deployment. If the outcome of that attempt is not known, nothing may have been sent.',
  ).optional(),
  outcome: text(
    'The outcome of the deployment: Updating, Running, Stopped or Failed. InDoubt: the outcome of two attempts is not known. Assumed: nothing was deployed, because the environment already ran when this resource was bound to it.',
    { max: 128 },
  ).optional(),
};

/** The status fields of an AppEnvironment. */
export const AppEnvironmentFacts = facts({
  appId: idAsShown('The id of the app that the environment belongs to.').optional(),
  appName: text('The name of the app that the environment belongs to.', { max: 256 }).optional(),
  environmentName: text('The name of the environment (API field: name).', { max: 256 }).optional(),
  slug: text('The slug of the environment.', { max: 256 }).optional(),
  cliEnvironmentName: text("The name of the environment in the service's CLI (API field: cliEnvName).", {
    max: 256,
  }).optional(),
  deploymentName: text("The name of the environment's deployment in the service's cluster.", { max: 256 }).optional(),
  state: text('The state: Running, Stopped, Updating or another one (API field: status).', { max: 64 }).optional(),
  region: text('The region of the environment.', { max: 128 }).optional(),
  hosts: listOf('The host names of the environment.', text('A host name.', { max: 253 }), { max: 100 }).optional(),
  resources: shown("Number and size of the environment's containers.", {
    containers: upToAMillion('Number of containers.'),
    zClouds: number('Standard units of CPU and memory per container.', { min: 0, max: 1_000_000 }).optional(),
    cpu: number("CPU in the service's zCPU units.", { min: 0, max: 1_000_000_000 }).optional(),
    memoryMb: number('Memory per container in MB (API field: memory).', { min: 0, max: 1_000_000_000 }).optional(),
  }).optional(),
  gitBranch: text('The git branch that the environment is built from.', { max: 256 }).optional(),
  deploy: shown('The newest deployment that this resource made or assumed.', {
    ...Revision,
    repeatedAfterDoubt: integer(
      'Number of attempts to send the deployment again because the outcome of an earlier attempt was not known.',
      { min: 0, max: 1000 },
    ).optional(),
    rollback: shown('The version numbers of a rollback.', {
      fromVersion: wholeNumber('The version before the rollback.').optional(),
      toVersion: wholeNumber('The version after the rollback.').optional(),
      besideSpec: flag('True if the annotation roll-back-at, not spec.deploy, asked for the rollback.').optional(),
    }).optional(),
  }).optional(),
  history: listOf('The last deployments by this resource, newest first.', shown('A deployment.', Revision), {
    max: 10,
  }).optional(),
  lastHandledRedeployAt: handledToken('apphosting.dev/redeploy-at'),
  lastHandledRollBackAt: handledToken('apphosting.dev/roll-back-at'),
  tookChanges: shown(
    'Times of the newest calls that applied changes of the app to the environment, in milliseconds since 1970.',
    {
      settingsMs: wholeNumber('Time of the newest call that restarted the environment.').optional(),
      versionMs: wholeNumber(
        'Time of the newest call that deployed an image or a new build. A rebuild, rollback or restart of an existing version does not count.',
      ).optional(),
    },
  ).optional(),
});
export type AppEnvironmentFacts = z.output<typeof AppEnvironmentFacts>;
