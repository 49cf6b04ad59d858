/** Parts of specs that more than one kind uses. */
import type { z } from 'zod';
import { immutableFields, objectOrIdRef } from '../../engine/kind/schema/schema.ts';

/** The environment that a resource is about. */
export function environmentRef(word: 'appEnvId' | 'sourceAppEnvId' = 'appEnvId') {
  return objectOrIdRef('The AppEnvironment in this namespace, or an environment by its id', word);
}

/** The same spec, which names its environment for good. */
export function ofOneEnvironment<Schema extends z.ZodObject<{ environmentRef: z.ZodType }>>(
  schema: Schema,
  message: string,
): Schema {
  return immutableFields(schema, ['environmentRef' as keyof z.output<Schema> & string], message);
}
