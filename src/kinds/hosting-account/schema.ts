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
 * Builds the spec fields of both kinds of accounts. `where` names the namespace of the Secrets; `adoption` is the default of
 * spec.adoption.
 */
export function accountFields(where: string, adoption: 'ById' | 'Never') {
  return {
    credentialsRef: objectRef(
      `The Secret ${where} with the keys baseUrl and token, and optionally caBundle (certificates in PEM form).`,
    ),
    externalId: immutable(
      serviceId('The id of the account in the service (interface: accountId).'),
      'externalId cannot be changed; create another account resource',
    ),
    dangerousCredentialsRef: objectRef(
      `A Secret ${where} like credentialsRef, used only to activate, discard and reset disaster recovery. Its baseUrl must equal the main one, and its token must see the same account.`,
    ).optional(),
    lifecycle: fields('Limits for every resource of this account.', {
      managementPolicy: choice(
        'Observe lets nothing in this account write to the service, whatever a resource says. Default: Manage.',
        ['Manage', 'Observe'],
      ).optional(),
      adoption: choice(
        `Which existing objects the resources of this account may adopt at most: Never, ById when it names the id, ByName when exactly one object has its name. Default: ${adoption}.`,
        ['Never', 'ById', 'ByName'],
      ).optional(),
    }).optional(),
    pollSeconds: integer(
      'How often the service is read when all is calm, in seconds. Default: 60, or what the operator was started with (--poll-seconds).',
      { min: 10, max: 3600 },
    ).optional(),
    budget: fields('Limits of the requests with this credential.', {
      requestsPerSecond: integer('Requests per second. Default: 5.', { min: 1, max: 1000 }).optional(),
      concurrency: integer('Requests at the same time. Default: 4.', { min: 1, max: 100 }).optional(),
    }).optional(),
  };
}

const presetFields = {
  name: text('The name to use in spec.preset of a HostedApp.', { max: 128 }),
  label: text('What the service calls it.', { max: 256 }).optional(),
  versions: listOf('The values for spec.atCreation.presetVersion.', text('A version.', { max: 128 }), {
    max: 100,
  }).optional(),
  defaultVersion: text('The version used when none is named.', { max: 128 }).optional(),
};

const AppPreset = shown('A preset for apps, functions and jobs.', {
  ...presetFields,
  isCustom: flag('Whether it builds from a Dockerfile of yours.').optional(),
  isFunction: flag('Whether its apps are functions.').optional(),
  isJob: flag('Whether its apps are jobs.').optional(),
  requiresDockerfile: flag('Whether a build from source needs a Dockerfile.').optional(),
});

const DatabasePreset = shown('A preset for databases and services.', {
  ...presetFields,
  protocols: listOf('The protocols of its connections.', text('A protocol.', { max: 64 }), { max: 20 }).optional(),
  maxDisk: count('The largest disk.'),
  maxContainers: integer('The most replicas.', { min: 0, max: 1_000_000 }).optional(),
});

const Solution = shown('A solution of the catalog.', {
  name: text('The name to use in spec.solution of a SolutionInstallation.', { max: 128 }),
  label: text('What the service calls it.', { max: 256 }).optional(),
  requiredInputs: listOf('The inputs that it needs.', text('An input.', { max: 128 }), { max: 50 }).optional(),
  components: listOf(
    'The components that it creates, each as an app with one environment.',
    shown('A component.', {
      name: text('Its name.', { max: 128 }),
      preset: text('The preset of its app.', { max: 64 }).optional(),
      dependsOn: listOf('The components that it needs.', text('A component.', { max: 128 }), { max: 50 }).optional(),
    }),
    { max: 50 },
  ).optional(),
});

/** The status fields of an account. */
export const HostingAccountFacts = facts({
  endpoint: text('The host of the service, pinned at the first success.', { max: 300 }).optional(),
  catalog: shown('What the service offers to this account, as far as it shows it.', {
    appPresets: listByKey('Presets for apps, functions and jobs.', AppPreset, ['name'], { max: 100 }).optional(),
    databasePresets: listByKey('Presets for databases and services.', DatabasePreset, ['name'], {
      max: 100,
    }).optional(),
    solutions: listByKey('Solutions.', Solution, ['name'], { max: 100 }).optional(),
  }).optional(),
  intervals: listByKey(
    'How often each part of the service is read at present.',
    shown('One part.', {
      name: text('What is read.', { max: 128 }),
      seconds: integer('The pause between two reads, in seconds.', { min: 0, max: 1_000_000 }),
    }),
    ['name'],
    { max: 100 },
  ).optional(),
  budget: shown(
    'The budget of requests and its expected use. Written only when something else in status changes; the metrics are always current.',
    {
      requestsPerSecond: integer('Requests per second at most, as spec.budget allows.', { min: 0, max: 1_000_000 }),
      concurrency: integer('Requests at the same time at most, as spec.budget allows.', { min: 0, max: 1_000_000 }),
      forecastPerHour: integer('Reads that are expected in an hour, to two digits.', { min: 0, max: 2_000_000_000 }),
    },
  ).optional(),
  counts: listByKey(
    'How many resources use this account.',
    shown('One kind.', {
      kind: text('The kind.', { max: 63 }),
      total: integer('How many there are.', { min: 0, max: 2_000_000_000 }),
      ready: count('How many of them are Ready.'),
    }),
    ['kind'],
    { max: 20 },
  ).optional(),
  orphans: listOf(
    'Objects in the service that carry the mark of this operator but belong to no resource, in the lists that some resource is about; they are only reported.',
    shown('One object.', {
      type: text('What it is, such as contact point.', { max: 63 }),
      externalId: text('Its id.', { max: 128 }),
      name: text('Its name.', { max: 256 }).optional(),
    }),
    { max: 50 },
  ).optional(),
  lastHandledAcceptMissing: text('The newest value of the annotation apphosting.dev/accept-missing that was handled.', {
    max: 300,
  }).optional(),
});
export type HostingAccountFacts = z.output<typeof HostingAccountFacts>;

/** An account of the service and the credential that opens it. */
export const HostingAccountSpec = fields(
  'Which account of the service to use, and how.',
  accountFields('in this namespace', 'ById'),
);
export type HostingAccountSpec = z.output<typeof HostingAccountSpec>;
