/** Parts of schemas that the disaster-readiness kinds share. */
import type { z } from 'zod';
import {
  immutable,
  withRule,
  choice,
  fields,
  flag,
  listOf,
  number,
  setOf,
  shown,
  text,
  time as timeShown,
} from '../../engine/kind/schema/schema.ts';
import { count, wholeNumber } from '../shared/schema.ts';

/** Maximum number of stages in status. */
export const mostStages = 20;

/** Builds the schema of the names for the recovered environment and its app. */
export function target(description: string) {
  return withRule(
    fields(description, {
      environmentName: text('The name of the recovered environment (interface: envName).', { min: 1, max: 256 }),
      appName: text('The name of the new app; databases always need it.', { min: 1, max: 256 }).optional(),
      createNewApp: flag(
        'Whether the recovered environment gets a new app. Databases always do. Default: false.',
      ).optional(),
    }),
    {
      rule: '!(has(self.createNewApp) && self.createNewApp) || has(self.appName)',
      message: 'appName is required when createNewApp is true',
      fieldPath: '.appName',
      reason: 'FieldValueRequired',
      check: ({ createNewApp = false, appName }) => !createNewApp || appName !== undefined,
    },
  );
}

/** Builds the schema of the list of risks that a user accepts. */
export function acknowledgements<const Risks extends readonly [string, ...string[]]>(
  description: string,
  risks: Risks,
): z.ZodArray<z.ZodEnum<{ [Risk in Risks[number]]: Risk }>> {
  return setOf(description, choice('A risk by its name.', risks), { min: 1, max: risks.length });
}

/** Makes a spec immutable, because a recovery request that was sent cannot be changed. */
export function once<Schema extends z.ZodObject>(schema: Schema): Schema {
  return immutable(schema, 'a request cannot be changed; delete it and create another, which undoes nothing');
}

/** Builds the schema of a time that is absent if the service does not show it. */
export const time = (description: string) => timeShown(description).optional();

/** The schema of the clean-ups that the service has not finished. */
export const pendingCleanup = shown('What the service still has to clean up.', {
  pendingCount: count('How many clean-ups the service has not finished.'),
  retainedDiskCount: count('How many disks are kept for their retention.'),
  retryingCount: count('How many clean-ups failed and are tried again.'),
  earliestRetentionUntil: time('When the first of these disks may be deleted.'),
}).optional();

/**
 * The schema of the clean-up after a validation. The service shows the state of this clean-up as advice, not as proof.
 */
export const validationCleanup = shown('How far the clean-up after a validation is; advice, not proof of deletion.', {
  observedTime: time('When this was seen (interface: observedAt).'),
  retentionUntil: time('Until when something is retained.'),
  retentionPending: flag('Whether something is still retained.').optional(),
}).optional();

export type ValidationCleanup = NonNullable<z.output<typeof validationCleanup>>;

/** Builds the schema of the names of a destination, as the service shows them. */
export function destination(description: string) {
  return shown(description, {
    environmentName: text('The name of the environment (interface: envName).', { max: 256 }).optional(),
    appName: text('The name of the new app.', { max: 256 }).optional(),
    createNewApp: flag('Whether there is a new app.').optional(),
  }).optional();
}

/** Builds the schema of the result of an activation. */
export function activationResult(description: string) {
  return shown(description, {
    operationId: text('The operation.', { max: 128 }).optional(),
    targetEnvironmentId: text('The id of the recovered environment (interface: targetAppEnvId).', {
      max: 128,
    }).optional(),
    targetAppId: text('The id of its app.', { max: 128 }).optional(),
    pointId: text('The recovery point.', { max: 128 }).optional(),
    cutoffTime: time('The moment up to which data was recovered (interface: cutoffAt).'),
    completedTime: time('When it was complete (interface: completedAt).'),
    engine: text('The database engine, for databases.', { max: 64 }).optional(),
  }).optional();
}

const size = (description: string) => number(description, { min: 0, max: 1_000_000_000_000 }).optional();

/** The schema of the resources that a recovery point would need. The service shows them only as a preview. */
export const sizing = shown('The size of what was protected; a preview only, never sent (interface: retainedSizing).', {
  replicas: count('Replicas.'),
  zClouds: size('Standard units per replica.'),
  cpu: size('CPU cores per replica.'),
  cpuRequest: size('Requested CPU cores per replica.'),
  memoryMb: size('Memory per replica in decimal MB.'),
  memoryRequestMb: size('Requested memory per replica in decimal MB.'),
  volumeCapacities: listOf('The capacities of the volumes.', text('A capacity, such as 10Gi.', { max: 64 }), {
    max: 50,
  }).optional(),
});

/** Builds the schema of an operation on a configuration, with texts as the service writes them. */
export function operation(description: string) {
  return shown(description, {
    operationId: text('Its id, where the service shows it.', { max: 128 }).optional(),
    kind: text('What it does.', { max: 64 }).optional(),
    stage: text('How far it is (interface: phase).', { max: 64 }).optional(),
    outcome: text('How it ended.', { max: 64 }).optional(),
    failedSteps: count('How many steps in a row failed.'),
    startedTime: time('When it began.'),
    endedTime: time('When it ended.'),
    cutoffTime: time('The moment of the data that it works on (interface: cutoffAt).'),
    requestId: text('The request that began it, when it was one of ours.', { max: 128 }).optional(),
    validationCleanup,
  });
}

/** The status fields for the current and the earlier stages of a recovery request. */
export const stageFacts = {
  stage: text('How far the operation is, in the words of the service (interface: phase).', { max: 64 }).optional(),
  stageChangeTime: time('Since when the service shows this stage.'),
  stages: listOf(
    'The stages that the service showed, in order; a stage that was over between two looks is missing.',
    shown('A stage.', {
      stage: text('The stage, in the words of the service.', { max: 64 }),
      observedTime: timeShown('When it was seen first.'),
    }),
    { max: mostStages },
  ).optional(),
};

/** The status fields of every recovery request about one configuration. */
export const requestFacts = {
  ...stageFacts,
  failedSteps: count('How many steps of the operation in a row have failed.'),
  requestId: text('The id under which the service knows this request.', { max: 64 }).optional(),
  configurationId: text('The id of the configuration.', { max: 128 }).optional(),
  configurationGeneration: wholeNumber(
    'The generation of the configuration that the request was made for (interface: expectedGeneration).',
  ).optional(),
  acceptedTime: time('When the service accepted it.'),
  finishedTime: time('When it was final.'),
};

export type RequestFacts = z.output<z.ZodObject<typeof requestFacts>>;

/** The identity fields that all kinds of recovery request have in common. */
export const request = { scope: 'Namespaced', life: 'request', holds: false } as const;

/**
 * The columns of `kubectl get` for a recovery request: its protection, its stage, and the time since the stage began.
 */
export const requestColumns = [
  { name: 'PROTECTION', path: '.spec.protectionRef.name', description: 'The protection.' },
  ...stageColumns('The stage of the request, in the words of the service.'),
] as const;

/** Builds the columns of `kubectl get` for the stage of a recovery request, and for the time since the stage began. */
export function stageColumns(description: string) {
  return [
    { name: 'STAGE', path: '.status.stage', description },
    {
      name: 'SINCE',
      path: '.status.stageChangeTime',
      type: 'date',
      description: 'For how long it has been in this stage.',
    },
  ] as const;
}
