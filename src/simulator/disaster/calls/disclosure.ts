// The minimal disclosure: sources and configurations without optional fields, operations with only the fields that the
// interface names.
import type { Readings } from '../../readings.ts';
import type { Item } from './items.ts';

const SOURCE = (
  'sourceAppEnvId appId appName environmentName region eligible volumes unsupportedReasons eligibleDestinations ' +
  'suggestedSettings'
).split(' ');

const CONFIGURATION =
  'configurationId sourceAppEnvId generation settings readiness activities validationScheduleEstablished'.split(' ');

const READINESS = ['state', 'warnings'];
const VOLUME = ['name', 'eligible'];
const ACTIVITY = ['operationId', 'kind', 'phase', 'startedAt'];

/** The fields that the interface names of the operation under way and of one in the history. */
const NAMED = ['cutoffAt', 'validationCleanup'];

/** A configuration as this world discloses it. */
export function disclosedConfiguration(configuration: Item, readings: Readings): Item {
  const shown = readings['dr.disclosed'] === 'minimal' ? minimalConfiguration(configuration) : configuration;
  switch (readings['dr.operations']) {
    case 'full':
      return shown;
    case 'withoutIds':
      return withOperations(shown, (operation) => ({ ...operation, operationId: undefined }));
    case 'asNamed':
      return withOperations(shown, (operation) => only(NAMED, operation));
  }
}

function withOperations(configuration: Item, show: (operation: object) => Item): Item {
  const { activeOperation, activities } = configuration as { activeOperation?: object; activities: readonly object[] };
  return {
    ...configuration,
    ...(activeOperation && { activeOperation: show(activeOperation) }),
    activities: activities.map(show),
  };
}

/** A source without its optional fields. */
export function minimalSource(source: Item): Item {
  return { ...only(SOURCE, source), volumes: eachOnly(VOLUME, source['volumes']) };
}

/** A configuration without its optional fields. */
function minimalConfiguration(configuration: Item): Item {
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
