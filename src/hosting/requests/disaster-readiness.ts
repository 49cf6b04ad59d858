import { z } from 'zod';
import type { Read, Request } from '../../engine/ports.ts';
import {
  configurationsIn,
  pointsIn,
  sourcesIn,
  type ConfigurationItem,
  type PointItem,
  type SourceItem,
} from '../bodies/disaster-readiness.ts';
import { nextCursorOf } from '../bodies/shape.ts';
import { cursorList, Finite, Id, Text, write, type BodySchemas } from './endpoint.ts';

const Target = z
  .strictObject({
    envName: Text.exactOptional(),
    appName: Text.exactOptional(),
    createNewApp: z.boolean().exactOptional(),
  })
  .readonly();

const settings = {
  destinationRegion: Text.exactOptional(),
  mode: z.enum(['cold', 'warm']).exactOptional(),
  /** Null selects platform storage, left out inherits the source's. */
  storageCredentialId: Id.nullable().exactOptional(),
  snapshotIntervalMs: Finite.exactOptional(),
  validationIntervalMs: Finite.exactOptional(),
  rpoTargetMs: Finite.exactOptional(),
  rtoTargetMs: Finite.exactOptional(),
  sameRegionAcknowledged: z.boolean().exactOptional(),
  target: Target.exactOptional(),
};

const ConfigureItem = z
  .strictObject({ ...settings, sourceAppEnvId: Id, requestId: Id, expectedGeneration: Finite })
  .readonly();

const Configure = z.strictObject({
  accountId: Id,
  common: z.strictObject(settings).readonly(),
  items: z.array(ConfigureItem).min(1).max(100).readonly(),
});

const Validate = z.strictObject({ accountId: Id, configurationId: Id, expectedGeneration: Finite, requestId: Id });

const Activate = z.strictObject({
  accountId: Id,
  configurationId: Id,
  expectedGeneration: Finite,
  requestId: Id,
  selectedOperationId: Id,
  pointId: Id,
  cutoffAt: Text,
  target: z.strictObject({ envName: Text, createNewApp: z.boolean(), appName: Text.exactOptional() }).readonly(),
  writerSafetyAcknowledged: z.boolean(),
});

const Discard = z.strictObject({
  accountId: Id,
  configurationId: Id,
  operationId: Id,
  expectedGeneration: Finite,
  requestId: Id,
  discardAcknowledged: z.literal(true),
});

const Reset = z.discriminatedUnion('scope', [
  z.strictObject({ accountId: Id, scope: z.literal('environment'), confirmationName: Text, sourceAppEnvId: Id }),
  z.strictObject({ accountId: Id, scope: z.literal('account'), confirmationName: Text }),
]);

/** One item of a configure call. */
export type ProtectionItem = z.infer<typeof ConfigureItem>;
/** The body of `POST /disaster-readiness/configure`. */
export type Protection = z.infer<typeof Configure>;
/** The body of `POST /disaster-readiness/validate`. */
export type Validation = z.infer<typeof Validate>;
/** The body of `POST /disaster-readiness/activate`. */
export type Activation = z.infer<typeof Activate>;
/** The body of `POST /disaster-readiness/discard-activation`. */
export type Discarding = z.infer<typeof Discard>;
/** The body of `POST /disaster-readiness/reset`. */
export type Resetting = z.infer<typeof Reset>;

/** What may be sent about disaster readiness. */
export const disasterReadinessBodies: BodySchemas = {
  'POST /disaster-readiness/configure': Configure,
  'POST /disaster-readiness/validate': Validate,
  'POST /disaster-readiness/activate': Activate,
  'POST /disaster-readiness/discard-activation': Discard,
  'POST /disaster-readiness/reset': Reset,
};

/** What is a body of `POST /disaster-readiness/configure`; undefined for anything else. */
export function protectionIn(body: unknown): Protection | undefined {
  return Configure.safeParse(body).data;
}

/** What is a body of `POST /disaster-readiness/validate`; undefined for anything else. */
export function validationIn(body: unknown): Validation | undefined {
  return Validate.safeParse(body).data;
}

/** Sets up or changes the protection of environments. */
export function postDisasterReadinessConfigure(body: Protection): Request {
  return write('POST', '/disaster-readiness/configure', 'identified', body);
}

/** Asks for an isolated check of a protection. */
export function postDisasterReadinessValidate(body: Validation): Request {
  return write('POST', '/disaster-readiness/validate', 'identified', body);
}

/** Recovers an environment from exactly this point. */
export function postDisasterReadinessActivate(body: Activation): Request {
  return write('POST', '/disaster-readiness/activate', 'identified', body);
}

/** Gives up an activation that cannot finish. */
export function postDisasterReadinessDiscardActivation(body: Discarding): Request {
  return write('POST', '/disaster-readiness/discard-activation', 'identified', body);
}

/** Deletes protection and leftovers; nothing identifies it, so a repeat is another reset. */
export function postDisasterReadinessReset(body: Resetting): Request {
  return write('POST', '/disaster-readiness/reset', 'remove', body);
}

/** The environments of an account that may be protected. */
export function drSourcesOf(accountId: string): Read<SourceItem> {
  return {
    key: 'drSources',
    ...cursorList<SourceItem>('/disaster-readiness/sources', { accountId }, nextCursorOf),
    items: sourcesIn,
    idOf: (source) => source.sourceAppEnvId,
    absentOn404: false,
    pace: 'poll',
  };
}

/** True while an operation of the configuration runs; a warm standby that only keeps up does not count. */
export function isOperating(configuration: ConfigurationItem): boolean {
  const { activeOperationId, activeOperation, warmRecoveryOperationId, warmValidationOperationId } = configuration;
  const id = activeOperationId ?? activeOperation?.operationId;
  if (id === undefined) return activeOperation !== undefined;
  return id !== warmRecoveryOperationId && id !== warmValidationOperationId;
}

/** The protections of an account. */
export function drConfigurationsOf(accountId: string): Read<ConfigurationItem> {
  return {
    key: 'drConfigurations',
    ...cursorList<ConfigurationItem>('/disaster-readiness/configurations', { accountId }, nextCursorOf),
    items: configurationsIn,
    idOf: (configuration) => configuration.configurationId,
    absentOn404: false,
    pace: 'poll',
    moving: ['recoveryPointAgeMs', 'standbyPace'],
    busy: (items) => [...items.values()].some(isOperating),
  };
}

/** The recovery points of a protection. */
export function drPointsOf(accountId: string, configurationId: string): Read<PointItem> {
  return {
    key: `drPoints/${configurationId}`,
    ...cursorList<PointItem>('/disaster-readiness/points', { accountId, configurationId }, nextCursorOf),
    items: pointsIn,
    idOf: (point) => `${point.selectedOperationId}/${point.pointId}`,
    absentOn404: false,
    // Pages of hundreds for the twenty that are shown: who follows them knows when they have moved.
    pace: 'hourly',
  };
}
