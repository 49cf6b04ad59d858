/** Parts of specs that more than one kind uses. */
import type { z } from 'zod';
import { exactlyOne, immutableFields } from '../../engine/kind/schema/rules.ts';
import { configMapKey, fields, objectRef, secretKey, serviceId, text } from '../../engine/kind/schema/schema.ts';

/** Where a value comes from. */
export function valueFrom() {
  return exactlyOne(
    fields('Where the value comes from.', {
      secretKeyRef: secretKey('A key of a Secret.').optional(),
      configMapKeyRef: configMapKey('A key of a ConfigMap.').optional(),
    }),
    ['secretKeyRef', 'configMapKeyRef'],
  );
}

/** The two ways to give a value. */
export function valueOrSource() {
  return {
    value: text('The value itself; everyone who may read this resource can read it.', { max: 16_384 }).optional(),
    valueFrom: valueFrom().optional(),
  };
}

/** The two ways to name an environment. */
export function environment() {
  return {
    environmentRef: objectRef('The AppEnvironment in this namespace.').optional(),
    appEnvId: serviceId('The id of the environment in the service, instead of environmentRef.').optional(),
  };
}

/** The same spec, which names exactly one environment, for good. */
export function ofOneEnvironment<
  Schema extends z.ZodObject<{ environmentRef: z.ZodOptional; appEnvId: z.ZodOptional }>,
>(schema: Schema, message: string): Schema {
  const names = ['environmentRef', 'appEnvId'] as const;
  return immutableFields(exactlyOne(schema, names), names, message);
}
