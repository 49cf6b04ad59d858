// The least a service may tell about a source or a configuration: every optional field left out.
import type { Item } from './items.ts';

const SOURCE = [
  'sourceAppEnvId',
  'appId',
  'appName',
  'environmentName',
  'region',
  'eligible',
  'volumes',
  'unsupportedReasons',
  'eligibleDestinations',
  'suggestedSettings',
];

const CONFIGURATION = [
  'configurationId',
  'sourceAppEnvId',
  'generation',
  'settings',
  'readiness',
  'activities',
  'validationScheduleEstablished',
];

const READINESS = ['state', 'warnings'];
const VOLUME = ['name', 'eligible'];
const ACTIVITY = ['operationId', 'kind', 'phase', 'startedAt'];

/** A source without its optional fields. */
export function minimalSource(source: Item): Item {
  return { ...only(SOURCE, source), volumes: eachOnly(VOLUME, source['volumes']) };
}

/** A configuration without its optional fields. */
export function minimalConfiguration(configuration: Item): Item {
  return {
    ...only(CONFIGURATION, configuration),
    readiness: only(READINESS, configuration['readiness']),
    activities: eachOnly(ACTIVITY, configuration['activities']),
  };
}

function only(names: readonly string[], value: unknown): Item {
  if (typeof value !== 'object' || value === null) return {};
  return Object.fromEntries(Object.entries(value).filter(([name]) => names.includes(name)));
}

function eachOnly(names: readonly string[], values: unknown): readonly Item[] {
  return Array.isArray(values) ? values.map((value) => only(names, value)) : [];
}
