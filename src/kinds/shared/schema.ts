/** Schema parts that the specs of several kinds use. */
import type { z } from 'zod';
import { adoption, drift, lifecycle, managementPolicy, onDelete, onMissing } from '../../engine/kind/schema/parts.ts';
import {
  exactlyOne,
  fields,
  immutableFields,
  integer,
  listByKey,
  objectOrIdRef,
  valueOrSource,
} from '../../engine/kind/schema/schema.ts';

/** Builds the schema of `spec.lifecycle` for a kind whose object in the service is created, changed and deleted. */
export function objectLifecycle(missing: 'Recreate' | 'Stall', deletion: string) {
  return lifecycle({
    managementPolicy,
    adoption,
    drift,
    onDelete: onDelete(['Delete', 'Retain'], deletion),
    onMissing: onMissing(missing),
  });
}

/** Up to this number, JavaScript reads every whole number in JSON exactly. */
const largest = 9_007_199_254_740_991;

/** Builds the schema of a whole number that may be large, such as a generation or a time in milliseconds. */
export const wholeNumber = (description: string) => integer(description, { min: 0, max: largest });
/** Builds the schema of a count that is absent if the service does not show the number. */
export const count = (description: string) => integer(description, { min: 0, max: 2_000_000_000 }).optional();

/** Builds the schema of a list of named values. Each value is written in the spec, or taken from a Secret or ConfigMap. */
export function namedValues(description: string, item: string, name: z.ZodString, max: number) {
  const value = exactlyOne(fields(item, { name, ...valueOrSource() }), ['value', 'valueFrom']);
  return listByKey(description, value, ['name'], { max }).optional();
}

/**
 * Builds the schema of a reference to the environment that a resource belongs to, such as the environment of a
 * MetricAlert.
 */
export function environmentRef(word: 'appEnvId' | 'sourceAppEnvId' = 'appEnvId') {
  return objectOrIdRef('The AppEnvironment in this namespace, or an environment by its id', word);
}

/** Makes the field environmentRef of a spec immutable. */
export function ofOneEnvironment<Schema extends z.ZodObject<{ environmentRef: z.ZodType }>>(
  schema: Schema,
  advice: string,
): Schema {
  return immutableFields(schema, ['environmentRef' as keyof z.output<Schema> & string], advice);
}
