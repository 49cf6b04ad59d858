import type { MaterialNeed } from '../../engine/kind/contract/define.ts';
import type { Pass } from '../../engine/kind/contract/pass.ts';
import type { givenText } from '../../engine/kind/schema/schema.ts';
import type { Secret } from '../../base/json.ts';
import type { z } from 'zod';

/** A value in a spec: written in the spec itself, or taken from a Secret or ConfigMap. */
export type Valued = z.output<ReturnType<typeof givenText>>;

/**
 * Returns the value that the spec contains, or else the value in the Secret or ConfigMap that the spec refers to.
 * Returns undefined while the Secret or ConfigMap cannot be read.
 */
export function valueOf(
  { value, valueFrom }: Valued,
  { secret, configMap }: Pick<Pass, 'secret' | 'configMap'>,
): string | Secret | undefined {
  if (value !== undefined) return value;
  const { secretKeyRef, configMapKeyRef } = valueFrom ?? {};
  if (secretKeyRef !== undefined) return secret(secretKeyRef.name, secretKeyRef.key);
  return configMapKeyRef && configMap(configMapKeyRef.name, configMapKeyRef.key);
}

/**
 * Returns the Secrets and ConfigMaps that the given values come from. `field` is the path in the spec that refers to
 * the Secret or ConfigMap.
 */
export function needsOf(values: readonly (readonly [field: string, valued: Valued])[]): {
  readonly secrets: readonly MaterialNeed[];
  readonly configMaps: readonly MaterialNeed[];
} {
  const from = (kind: 'secretKeyRef' | 'configMapKeyRef') =>
    values.flatMap(([field, { valueFrom }]) => {
      const ref = valueFrom?.[kind];
      return ref === undefined ? [] : [{ ...ref, field }];
    });
  return { secrets: from('secretKeyRef'), configMaps: from('configMapKeyRef') };
}

/**
 * Converts a string to a JSON value: up to 15 digits become a number, `true` and `false` become a boolean, and any other
 * string stays a string.
 */
export function typed(text: string): string | number | boolean {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  if (text === 'true' || text === 'false') return text === 'true';
  return text;
}
