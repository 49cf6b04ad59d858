// The bodies of the calls on disaster readiness: their form only. Unknown fields are refused everywhere.
import type { BodyFields, Reads } from '../../http/fields.ts';
import {
  choice,
  flag,
  list,
  number,
  object,
  onlyFields,
  optional,
  present,
  required,
  text,
} from '../../http/fields.ts';
import { invalid } from '../../http/refusal.ts';
import type { AskedNames, AskedSettings } from '../protection/settings.ts';

const SETTINGS =
  'destinationRegion mode storageCredentialId snapshotIntervalMs validationIntervalMs rpoTargetMs rtoTargetMs sameRegionAcknowledged target'.split(
    ' ',
  );

/** One item of a configure call. */
export interface ConfigureItem {
  readonly sourceAppEnvId: string;
  readonly requestId: string;
  readonly expectedGeneration: number;
  readonly asked: AskedSettings;
}

const generation = number({ min: 0, whole: true });

/** Reads the settings common to all items and the items, which must be of distinct environments. */
export function configureBody(body: BodyFields): {
  readonly common: AskedSettings;
  readonly items: readonly ConfigureItem[];
} {
  onlyFields(body, '', ['accountId', 'common', 'items']);
  const common = required(body, 'common', settingsAmong([]));
  const items = required(body, 'items', list(configureItem, { min: 1, max: 100 }));
  if (new Set(items.map(({ sourceAppEnvId }) => sourceAppEnvId)).size < items.length) {
    throw invalid('items must be of distinct environments');
  }
  return { common, items };
}

const configureItem: Reads<ConfigureItem> = (value, name) => {
  const item = object(value, name);
  const asked = settingsAmong(['sourceAppEnvId', 'requestId', 'expectedGeneration'])(item, name);
  return {
    sourceAppEnvId: required(item, 'sourceAppEnvId', text()),
    requestId: required(item, 'requestId', text()),
    expectedGeneration: required(item, 'expectedGeneration', generation),
    asked,
  };
};

function settingsAmong(others: readonly string[]): Reads<AskedSettings> {
  return (value, name) => {
    const from = object(value, name);
    onlyFields(from, name, [...SETTINGS, ...others]);
    return present({
      destinationRegion: optional(from, 'destinationRegion', text()),
      mode: optional(from, 'mode', choice(['cold', 'warm'])),
      storageCredentialId: optional(from, 'storageCredentialId', textOrNull),
      snapshotIntervalMs: optional(from, 'snapshotIntervalMs', number()),
      validationIntervalMs: optional(from, 'validationIntervalMs', number()),
      rpoTargetMs: optional(from, 'rpoTargetMs', number()),
      rtoTargetMs: optional(from, 'rtoTargetMs', number()),
      sameRegionAcknowledged: optional(from, 'sameRegionAcknowledged', flag),
      target: optional(from, 'target', names),
    });
  };
}

const textOrNull: Reads<string | null> = (value, name) => (value === null ? null : text()(value, name));

const names: Reads<AskedNames> = (value, name) => {
  const target = object(value, name);
  onlyFields(target, name, ['envName', 'createNewApp', 'appName']);
  return present({
    envName: optional(target, 'envName', text({ min: 0 })),
    createNewApp: optional(target, 'createNewApp', flag),
    appName: optional(target, 'appName', text({ min: 0 })),
  });
};

/** Reads a request for an isolated check. */
export function validateBody(body: BodyFields): { readonly expectedGeneration: number; readonly requestId: string } {
  onlyFields(body, '', ['accountId', 'configurationId', 'expectedGeneration', 'requestId']);
  return {
    expectedGeneration: required(body, 'expectedGeneration', generation),
    requestId: required(body, 'requestId', text()),
  };
}

/** An activation as a request gives it. */
export interface ActivateBody {
  readonly expectedGeneration: number;
  readonly requestId: string;
  readonly selectedOperationId: string;
  readonly pointId: string;
  readonly cutoffAt: number;
  readonly target?: AskedNames;
  readonly writerSafetyAcknowledged: boolean;
}

const ACTIVATE =
  'accountId configurationId expectedGeneration requestId selectedOperationId pointId cutoffAt target writerSafetyAcknowledged'.split(
    ' ',
  );

/** Reads an activation; a target that is left out is a matter of the rules, not of the form. */
export function activateBody(body: BodyFields): ActivateBody {
  onlyFields(body, '', ACTIVATE);
  const target = body['target'] === null ? undefined : optional(body, 'target', names);
  return {
    expectedGeneration: required(body, 'expectedGeneration', generation),
    requestId: required(body, 'requestId', text()),
    selectedOperationId: required(body, 'selectedOperationId', text()),
    pointId: required(body, 'pointId', text({ min: 64, max: 64 })),
    cutoffAt: required(body, 'cutoffAt', instant),
    ...(target === undefined ? {} : { target }),
    writerSafetyAcknowledged: optional(body, 'writerSafetyAcknowledged', flag) ?? false,
  };
}

const UTC = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?Z$/;

/** An ISO 8601 date in UTC. */
export const instant: Reads<number> = (value, name) => {
  const at = typeof value === 'string' && UTC.test(value) ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(at)) throw invalid(`${name} must be an ISO 8601 UTC timestamp`);
  return at;
};

/** Reads a discard; it counts only with the literal acknowledgement. */
export function discardBody(body: BodyFields): {
  readonly operationId: string;
  readonly expectedGeneration: number;
  readonly requestId: string;
} {
  onlyFields(
    body,
    '',
    'accountId configurationId operationId expectedGeneration requestId discardAcknowledged'.split(' '),
  );
  if (body['discardAcknowledged'] !== true) throw invalid('discardAcknowledged must be true');
  return {
    operationId: required(body, 'operationId', text()),
    expectedGeneration: required(body, 'expectedGeneration', generation),
    requestId: required(body, 'requestId', text()),
  };
}

/** Reads a reset. */
export function resetBody(body: BodyFields): {
  readonly scope: 'environment' | 'account';
  readonly confirmationName: string;
} {
  onlyFields(body, '', ['accountId', 'scope', 'confirmationName', 'sourceAppEnvId']);
  const scope = required(body, 'scope', choice(['environment', 'account']));
  if (scope === 'account' && Object.hasOwn(body, 'sourceAppEnvId')) {
    throw invalid('sourceAppEnvId must not be sent for account scope');
  }
  return { scope, confirmationName: required(body, 'confirmationName', text()) };
}
