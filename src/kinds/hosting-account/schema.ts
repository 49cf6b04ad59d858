import type { z } from 'zod';
import {
  immutable,
  choice,
  facts,
  fields,
  flag,
  integer,
  listByKey,
  listOf,
  objectRef,
  serviceId,
  shown,
  text,
} from '../../engine/kind/schema/schema.ts';
import { count } from '../shared/schema.ts';

/**
 * Builds the spec fields that HostingAccount and ClusterHostingAccount share. Both parameters are used only in
 * descriptions: `namespace` says where the Secrets are, and `adoption` is the default of spec.lifecycle.adoption.
 */
export function accountFields(namespace: string, adoption: 'ById' | 'Never') {
  return {
    credentialsRef: objectRef(`The Secret in ${namespace} with baseUrl and token, and optionally caBundle (PEM).`),
    externalId: immutable(
      serviceId('The id of the account in the service (API field: accountId).'),
      'externalId cannot be changed; create another account resource',
    ),
    dangerousCredentialsRef: objectRef(
      `A Secret in ${namespace} with the same keys as credentialsRef. Its token is used only to activate, discard and reset disaster recovery. Its baseUrl must equal the one in credentialsRef, and its token must have access to the same account.`,
    ).optional(),
    lifecycle: fields('Limits for every resource of this account.', {
      managementPolicy: choice(
        'With Observe, no resource of this account changes anything in the service, whatever the resource says. Default: Manage.',
        ['Manage', 'Observe'],
      ).optional(),
      adoption: choice(
        `The existing objects that the resources of this account may adopt. Never: no objects. ById: objects that a spec names by id. ByName: also an object that is the only one with the name in the spec. Default: ${adoption}.`,
        ['Never', 'ById', 'ByName'],
      ).optional(),
    }).optional(),
    pollSeconds: integer(
      'Time between two reads of the service while nothing changes, in seconds. Default: 60, or the value of the operator flag --poll-seconds.',
      { min: 10, max: 3600 },
    ).optional(),
    budget: fields('Limits for requests with this credential.', {
      requestsPerSecond: integer('Maximum number of requests per second. Default: 5.', {
        min: 1,
        max: 1000,
      }).optional(),
      concurrency: integer('Maximum number of requests at the same time. Default: 4.', { min: 1, max: 100 }).optional(),
    }).optional(),
  };
}

const presetFields = {
  name: text('The name to use in spec.preset of a HostedApp.', { max: 128 }),
  label: text('The display name of the preset.', { max: 256 }).optional(),
  versions: listOf('The versions of the preset.', text('A version.', { max: 128 }), { max: 100 }).optional(),
  defaultVersion: text('The version of the preset that is used if the HostedApp names none.', { max: 128 }).optional(),
};

const AppPreset = shown('A preset for apps, functions and jobs.', {
  ...presetFields,
  isCustom: flag('True if the preset builds from a Dockerfile of your own.').optional(),
  isFunction: flag('True if apps with this preset are functions.').optional(),
  isJob: flag('True if apps with this preset are jobs.').optional(),
  requiresDockerfile: flag('True if a build from source needs a Dockerfile.').optional(),
});

const DatabasePreset = shown('A preset: a kind of database or service, such as POSTGRESQL.', {
  ...presetFields,
  protocols: listOf('The protocols for connections to the database or service.', text('A protocol.', { max: 64 }), {
    max: 20,
  }).optional(),
  maxDisk: count('Maximum size of the disk.'),
  maxContainers: integer('Maximum number of replicas.', { min: 0, max: 1_000_000 }).optional(),
});

const Solution = shown('A solution of the catalog.', {
  name: text('The name to use in spec.solution of a SolutionInstallation.', { max: 128 }),
  label: text('The display name of the solution.', { max: 256 }).optional(),
  requiredInputs: listOf('The names of the inputs that the solution requires.', text('An input.', { max: 128 }), {
    max: 50,
  }).optional(),
  components: listOf(
    'The components that the solution creates, each as an app with one environment.',
    shown('A component.', {
      name: text('The name of the component.', { max: 128 }),
      preset: text("The preset of the component's app.", { max: 64 }).optional(),
      dependsOn: listOf('The components that this component depends on.', text('A component.', { max: 128 }), {
        max: 50,
      }).optional(),
    }),
    { max: 50 },
  ).optional(),
});

/** The status fields of a HostingAccount or ClusterHostingAccount. */
export const HostingAccountFacts = facts({
  endpoint: text('The host of the service, recorded at the first successful read.', { max: 300 }).optional(),
  catalog: shown('The presets and solutions that the service offers to this account.', {
    appPresets: listByKey('Presets for apps, functions and jobs.', AppPreset, ['name'], { max: 100 }).optional(),
    databasePresets: listByKey('Presets for databases and services, such as POSTGRESQL.', DatabasePreset, ['name'], {
      max: 100,
    }).optional(),
    solutions: listByKey('Solutions.', Solution, ['name'], { max: 100 }).optional(),
  }).optional(),
  intervals: listByKey(
    'How often the operator currently reads lists and alert states from the service.',
    shown('What the operator reads, and how often.', {
      name: text('What is read at this interval: the lists, or the states of alerts.', { max: 128 }),
      seconds: integer('The time between two reads, in seconds.', { min: 0, max: 1_000_000 }),
    }),
    ['name'],
    { max: 100 },
  ).optional(),
  budget: shown(
    'The rate limit that the operator keeps, and the number of requests that it expects to send. This field is updated only when something else in status changes; the metrics are always current.',
    {
      requestsPerSecond: integer('Maximum number of requests per second, from spec.budget.', {
        min: 0,
        max: 1_000_000,
      }),
      concurrency: integer('Maximum number of requests at the same time, from spec.budget.', {
        min: 0,
        max: 1_000_000,
      }),
      forecastPerHour: integer('Expected number of reads per hour, rounded to two digits.', {
        min: 0,
        max: 2_000_000_000,
      }),
    },
  ).optional(),
  counts: listByKey(
    'The number of resources that use this account, by kind.',
    shown('One kind.', {
      kind: text('The kind.', { max: 63 }),
      total: integer('Number of resources of this kind.', { min: 0, max: 2_000_000_000 }),
      ready: count('Number of resources of this kind that are Ready.'),
    }),
    ['kind'],
    { max: 20 },
  ).optional(),
  orphans: listOf(
    'Objects in the service that carry the mark of this operator but belong to no resource. The operator leaves these objects unchanged. It finds them only in lists that it reads for some resource anyway.',
    shown('One object.', {
      type: text('The type of the object, such as alert.', { max: 63 }),
      externalId: text('The id of the object.', { max: 128 }),
      name: text('The name of the object.', { max: 256 }).optional(),
    }),
    { max: 50 },
  ).optional(),
  lastHandledAcceptMissing: text(
    'The newest value of the annotation apphosting.dev/accept-missing that the operator has handled.',
    { max: 300 },
  ).optional(),
});
export type HostingAccountFacts = z.output<typeof HostingAccountFacts>;

/** The spec of a HostingAccount: an account of the service, and the token to use it. */
export const HostingAccountSpec = fields('An account of the service.', accountFields('this namespace', 'ById'));
export type HostingAccountSpec = z.output<typeof HostingAccountSpec>;
