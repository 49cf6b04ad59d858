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
import type { Reference } from '../shared/references.ts';
import { count, wholeNumber } from '../shared/schema.ts';

/** Maximum number of stages in status. */
export const mostStages = 20;

/** Builds the schema of `target`: the names that a spec gives to the recovered environment and its app. */
export function target(description: string) {
  return withRule(
    fields(description, {
      environmentName: text('The name of the recovered environment (API field: envName).', { min: 1, max: 256 }),
      appName: text('The name of the new app for the recovered environment. Databases always need this name.', {
        min: 1,
        max: 256,
      }).optional(),
      createNewApp: flag('True recovers into a new app, as is always done for databases. Default: false.').optional(),
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
  return setOf(description, choice('The name of an accepted risk.', risks), { min: 1, max: risks.length });
}

/** Makes a spec immutable, because a recovery request that was sent cannot be changed. */
export function once<Schema extends z.ZodObject>(schema: Schema): Schema {
  return immutable(schema, 'a request cannot be changed; create a new resource. Deleting this one does not undo it');
}

/** Builds the schema of an optional field for a time. The field is absent if the service does not show the time. */
export const time = (description: string) => timeShown(description).optional();

/** The schema of `pendingCleanup`: the clean-ups that the service has not finished. */
export const pendingCleanup = shown('The clean-ups that the service has not finished.', {
  pendingCount: count('Number of clean-ups that the service has not finished; each retained disk counts as one.'),
  retainedDiskCount: count('Number of disks that the service keeps until their retention period ends.'),
  retryingCount: count('Number of failed clean-ups that the service is retrying.'),
  earliestRetentionUntil: time('Earliest time at which the service may delete one of the retained disks.'),
}).optional();

/**
 * The schema of the state of the clean-up after a validation. The service shows this state as advice; it does not prove
 * that anything was deleted.
 */
export const validationCleanup = shown(
  'The state of the clean-up after a validation. It does not prove that the service has deleted anything.',
  {
    observedTime: time('Time at which the service observed this state of the clean-up (API field: observedAt).'),
    retentionUntil: time('Time until which the service keeps the resources of the validation.'),
    retentionPending: flag('True if the service still retains resources of the validation.').optional(),
  },
).optional();

export type ValidationCleanup = NonNullable<z.output<typeof validationCleanup>>;

/** Builds the schema of the names of a recovered environment and its app, as the service shows them. */
export function destination(description: string) {
  return shown(description, {
    environmentName: text('The name of the recovered environment (API field: envName).', { max: 256 }).optional(),
    appName: text('The name of the new app for the recovered environment.', { max: 256 }).optional(),
    createNewApp: flag('True if the recovered environment gets a new app.').optional(),
  }).optional();
}

/** Builds the schema of the result of an activation. */
export function activationResult(description: string) {
  return shown(description, {
    operationId: text('The id of the operation that activated the environment.', { max: 128 }).optional(),
    targetEnvironmentId: text('The id of the recovered environment (API field: targetAppEnvId).', {
      max: 128,
    }).optional(),
    targetAppId: text('The id of the app of the recovered environment.', { max: 128 }).optional(),
    pointId: text('The id of the recovery point that was used.', { max: 128 }).optional(),
    cutoffTime: time('Time up to which data was recovered (API field: cutoffAt).'),
    completedTime: time('Time at which the activation was complete (API field: completedAt).'),
    engine: text('The database engine, if the environment runs a database.', { max: 64 }).optional(),
  }).optional();
}

const size = (description: string) => number(description, { min: 0, max: 1_000_000_000_000 }).optional();

/**
 * The schema of the size that an environment had at a recovery point. It is shown for information only: no request
 * contains it.
 */
export const sizing = shown(
  'The size of the environment at the recovery point, for information: no request contains it (API field: retainedSizing).',
  {
    replicas: count('Number of replicas.'),
    zClouds: size('Standard units of CPU and memory per replica (API field: zClouds).'),
    cpu: size('CPU cores per replica.'),
    cpuRequest: size('Requested CPU cores per replica.'),
    memoryMb: size('Memory per replica in decimal MB.'),
    memoryRequestMb: size('Requested memory per replica in decimal MB.'),
    volumeCapacities: listOf('The capacities of the volumes.', text('A capacity, such as 10Gi.', { max: 64 }), {
      max: 50,
    }).optional(),
  },
);

/**
 * Builds the schema of an operation in the status of a DisasterProtection. Texts such as the stage are the service's
 * own words. The operator writes `(no word)` for a text that is too long or has unusual characters.
 */
export function operation(description: string) {
  return shown(description, {
    operationId: text('The id of the operation. Absent if the service does not show one.', { max: 128 }).optional(),
    kind: text('The kind of the operation, such as a validation.', { max: 64 }).optional(),
    stage: text('The stage of the operation, as the service shows it (API field: phase).', { max: 64 }).optional(),
    outcome: text('The outcome of the operation.', { max: 64 }).optional(),
    failedSteps: count('Number of consecutive failed steps of the operation.'),
    startedTime: time('Time at which the operation began.'),
    endedTime: time('Time at which the operation ended.'),
    cutoffTime: time('Time up to which the operation recovers data (API field: cutoffAt).'),
    requestId: text(
      'The value of status.requestId of the RecoveryActivation that began the operation. Absent if no RecoveryActivation in this cluster began it.',
      { max: 128 },
    ).optional(),
    validationCleanup,
  });
}

/** The status fields for the current and the earlier stages of a recovery request. */
export const stageFacts = {
  stage: text('The stage of the operation, as the service shows it (API field: phase).', { max: 64 }).optional(),
  stageChangeTime: time('Time at which the operator first saw the current stage.'),
  stages: listOf(
    `The newest stages of the operation (at most ${mostStages}), in order. A stage is missing if it began and ended between two reads of the service.`,
    shown('A stage of the operation.', {
      stage: text('The name of the stage, as the service shows it.', { max: 64 }),
      observedTime: timeShown('Time at which the operator first saw this stage.'),
    }),
    { max: mostStages },
  ).optional(),
};

/** The status fields that every recovery request for a single configuration has. */
export const requestFacts = {
  ...stageFacts,
  failedSteps: count('Number of consecutive failed steps of the operation.'),
  requestId: text('The id by which the service recognises this request when it is repeated.', { max: 64 }).optional(),
  configurationId: text('The id of the configuration that the request is for.', { max: 128 }).optional(),
  configurationGeneration: wholeNumber('Generation of the configuration (API field: expectedGeneration).').optional(),
  acceptedTime: time(
    'Time at which the operator learned that the service has accepted the request, or saw the effect of the request.',
  ),
  finishedTime: time('Time at which the request ended. The result is final from this time on.'),
};

export type RequestFacts = z.output<z.ZodObject<typeof requestFacts>>;

/** The spec fields that the operator needs of a recovery request of any kind. */
export interface RequestSpec {
  readonly protectionRef?: { readonly name: string };
  readonly environmentRef?: Reference | undefined;
  /** The time until which the recovery request may be sent. If it is absent, there is no limit. */
  readonly validUntil?: string;
}

/** The fields that are equal in the definitions of all kinds of recovery request. */
export const request = { scope: 'Namespaced', life: 'request', holds: false } as const;

/**
 * The columns of `kubectl get` for a recovery request: its protection, its stage, and the time since the stage began.
 */
export const requestColumns = [
  { name: 'PROTECTION', path: '.spec.protectionRef.name', description: 'The name of the DisasterProtection.' },
  ...stageColumns('The current stage of the request, as the service shows it.'),
] as const;

/**
 * Builds two columns for `kubectl get`: the stage of a recovery request, and how long the request has been in this
 * stage.
 */
export function stageColumns(description: string) {
  return [
    { name: 'STAGE', path: '.status.stage', description },
    { name: 'SINCE', path: '.status.stageChangeTime', type: 'date', description: 'Time since the stage began.' },
  ] as const;
}
