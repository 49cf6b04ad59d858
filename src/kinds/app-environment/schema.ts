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
  fields('What to deploy; at most one of image, build and rollbackContentId.', {
    image: text('The image to deploy, such as registry.example.com/team/web:1.2.', { min: 1, max: 1024 }).optional(),
    build: fields('Builds from the git branch of the environment, once for each revision.', {
      revision: text('Changing it builds again; CI writes the git commit here.', { min: 1, max: 256 }),
      forceNewBuild: flag('Builds even when the service has an image of this source. Default: false.').optional(),
      rebuild: flag(
        'Builds the content version that runs once more, instead of a new one (interface: isRebuild). Default: false.',
      ).optional(),
      fromContentId: serviceId('The id of the content version to rebuild instead.').optional(),
    }).optional(),
    rollbackContentId: serviceId(
      'The content version to roll back to (interface: targetContentId). Nothing happens when it is the one that this resource deployed last, or took as deployed.',
    ).optional(),
    onBind: choice(
      'What to do when this resource meets an environment that runs already: Assume takes it as deployed, Deploy deploys. Default: Assume.',
      ['Assume', 'Deploy'],
    ).optional(),
  }),
  ['image', 'build', 'rollbackContentId'],
);

const upToAMillion = (description: string) => integer(description, { min: 0, max: 1_000_000 }).optional();

const FunctionConfig = withRule(
  fields('How a function behaves. The service keeps what is not named here.', {
    containerConcurrency: upToAMillion('Requests that one container takes at the same time.'),
    timeoutSeconds: upToAMillion('How long a request may take, in seconds.'),
    idleTimeoutSeconds: upToAMillion('How long a response may pause, in seconds.'),
    responseStartTimeoutSeconds: upToAMillion('How long a response may take to begin, in seconds.'),
    minScale: upToAMillion('The fewest containers.'),
    maxScale: upToAMillion('The most containers.'),
  }),
  {
    rule: '!has(self.minScale) || !has(self.maxScale) || self.minScale <= self.maxScale',
    message: 'minScale must not be greater than maxScale',
    fieldPath: '.minScale',
    check: ({ minScale = 0, maxScale = Number.POSITIVE_INFINITY }) => minScale <= maxScale,
  },
);

const StartupConfig = withRule(
  fields("Replaces how the image starts. What is left out is the image's own.", {
    command: text('The command.', { min: 1, max: 16_384 }).optional(),
    args: listOf("Arguments; without a command they replace the image's.", text('An argument.', { max: 16_384 }), {
      max: 200,
    }).optional(),
    shell: flag(
      'Whether a shell runs the command. With false, command is one executable and args its arguments. Default: true.',
    ).optional(),
    workingDir: text('The folder to start in.', { min: 1, max: 4096 }).optional(),
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

const Fields = specInAccount('Which environment, and what runs in it.', {
  appRef: objectOrIdRef(
    'The HostedApp in this namespace that the environment belongs to, or an app by its id',
    'appId',
  ).optional(),
  environmentName: text('The name of the environment, within its app.', { min: 1, max: 256 }).optional(),
  cliEnvironmentName: text("The name of the environment in the service's command line (interface: cliEnvName).", {
    min: 1,
    max: 256,
  }).optional(),
  externalId: serviceId('The id of the environment (interface: appEnvId).').optional(),
  solutionRef: objectRef('The SolutionInstallation in this namespace that the environment came with.').optional(),
  component: text('The component of the solution.', { min: 1, max: 256 }).optional(),
  powerState: choice('Running starts the environment, Stopped stops it. When absent it is left as it is.', [
    'Running',
    'Stopped',
  ]).optional(),
  deploy: Deploy.optional(),
  env: namedValues(
    'Environment variables (interface: envVars); a change deploys the image again. The service keeps variables that are not named here.',
    'A variable.',
    text('Its name.', { min: 1, max: 256, pattern: '^[-._a-zA-Z][-._a-zA-Z0-9]*$' }),
    500,
  ),
  functionConfig: FunctionConfig.optional(),
  startupConfig: StartupConfig.optional(),
  lifecycle: lifecycle({ managementPolicy, drift }),
});

type Fields = z.output<typeof Fields>;

/** An environment is named only together with its app; a field that only a deployment sends needs one. */
const rules: readonly Rule<Fields>[] = [
  {
    rule: '!has(self.environmentName) || has(self.appRef)',
    message: 'environmentName needs appRef: a name is only known within its app',
    fieldPath: '.environmentName',
    check: (spec) => spec.environmentName === undefined || spec.appRef !== undefined,
  },
  {
    rule: 'has(self.component) == has(self.solutionRef)',
    message: 'component and solutionRef go together',
    check: (spec) => (spec.component !== undefined) === (spec.solutionRef !== undefined),
  },
  {
    rule: '!has(self.env) || self.env.size() == 0 || self.?deploy.?image.hasValue()',
    message: 'env needs deploy.image: the service takes variables only together with an image',
    fieldPath: '.env',
    check: ({ env: variables = [], deploy }) => variables.length === 0 || deploy?.image !== undefined,
  },
  {
    rule: '!has(self.functionConfig) || self.?deploy.?image.hasValue()',
    message: 'functionConfig needs deploy.image: the service takes it only together with an image',
    fieldPath: '.functionConfig',
    check: (spec) => spec.functionConfig === undefined || spec.deploy?.image !== undefined,
  },
  {
    rule: '!has(self.startupConfig) || self.?deploy.?image.hasValue() || self.?deploy.?build.hasValue()',
    message: 'startupConfig needs deploy.image or deploy.build: the service takes it only together with one of them',
    fieldPath: '.startupConfig',
    check: ({ startupConfig, deploy }) =>
      startupConfig === undefined || deploy?.image !== undefined || deploy?.build !== undefined,
  },
];

/** One existing environment, and the image and settings that run in it. */
export const AppEnvironmentSpec = immutableFields(
  rules.reduce(withRule, exactlyOne(atMostOne(Fields, owners), places)),
  [...owners, ...places],
  'cannot be changed; delete this resource, which leaves the environment as it is, and create another',
);
export type AppEnvironmentSpec = z.output<typeof AppEnvironmentSpec>;

const Revision = {
  revision: text('What was deployed: the image, the revision or the content version of the spec.', {
    max: 1024,
  }).optional(),
  contentId: idAsShown('The content version in the service.').optional(),
  sentTime: time('When it was sent.').optional(),
  outcome: text('How it ended.', { max: 128 }).optional(),
};

/** The status fields of an environment. */
export const AppEnvironmentFacts = facts({
  appId: idAsShown('The id of the app that the environment belongs to.').optional(),
  appName: text('The name of its app in the service.', { max: 256 }).optional(),
  environmentName: text('The name of the environment (interface: name).', { max: 256 }).optional(),
  slug: text('Its slug.', { max: 256 }).optional(),
  cliEnvironmentName: text("Its name in the service's command line (interface: cliEnvName).", { max: 256 }).optional(),
  deploymentName: text("Its name in the service's cluster.", { max: 256 }).optional(),
  state: text('Running, Stopped, Updating, or the word of the service (interface: status).', { max: 64 }).optional(),
  region: text('Where it runs.', { max: 128 }).optional(),
  hosts: listOf('Its host names.', text('A host name.', { max: 253 }), { max: 100 }).optional(),
  resources: shown('What it may use.', {
    containers: upToAMillion('Containers.'),
    zClouds: number('Standard units per container.', { min: 0, max: 1_000_000 }).optional(),
    cpu: number('CPU, in the units of the service.', { min: 0, max: 1_000_000_000 }).optional(),
    memoryMb: number('Memory per container in MB (interface: memory).', { min: 0, max: 1_000_000_000 }).optional(),
  }).optional(),
  gitBranch: text('The branch that it is built from.', { max: 256 }).optional(),
  deploy: shown('The newest deployment by this resource.', {
    ...Revision,
    repeatedAfterDoubt: integer('How often it was sent again because its outcome was not known.', {
      min: 0,
      max: 1000,
    }).optional(),
    rollback: shown('The versions, when it was a rollback.', {
      fromVersion: wholeNumber('The version before.').optional(),
      toVersion: wholeNumber('The version after.').optional(),
      besideSpec: flag('True where the annotation apphosting.dev/roll-back-at asked for it.').optional(),
    }).optional(),
  }).optional(),
  history: listOf('The last deployments by this resource, newest first.', shown('A deployment.', Revision), {
    max: 10,
  }).optional(),
  lastHandledRedeployAt: handledToken('apphosting.dev/redeploy-at'),
  lastHandledRollBackAt: handledToken('apphosting.dev/roll-back-at'),
  tookChanges: shown(
    'Times of the newest calls with which this resource brought changes of the app into the environment, in milliseconds since 1970.',
    {
      settingsMs: wholeNumber('A call that restarts it.').optional(),
      versionMs: wholeNumber('A call that makes a new version.').optional(),
    },
  ).optional(),
});
export type AppEnvironmentFacts = z.output<typeof AppEnvironmentFacts>;
