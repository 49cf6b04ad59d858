/** Resolves references in a spec. A reference names a resource, or gives the id of an object in the service. */
import type { ReferenceNeed } from '../../engine/kind/contract/define.ts';
import type { Pass } from '../../engine/kind/contract/pass.ts';
import type { objectOrIdRef } from '../../engine/kind/schema/schema.ts';
import type { z } from 'zod';

/** A reference in a spec: the name of a resource, or the id of an object in the service. */
export type Reference = z.output<ReturnType<typeof objectOrIdRef>>;

/** Returns the id in the service that a reference stands for; undefined while the referenced resource has no id. */
export function idOf(
  kind: string,
  ref: Reference | undefined,
  { referred }: Pick<Pass, 'referred'>,
): string | undefined {
  return ref?.externalId ?? (ref?.name === undefined ? undefined : referred(kind, ref.name)?.id);
}

/**
 * Returns a list with the resource that the reference names. The list is empty if the reference gives the id of an
 * object in the service instead.
 */
export function needOf(
  kind: string,
  ref: Reference | undefined,
  field: string,
  how: Pick<ReferenceNeed, 'optional' | 'withoutId'> = {},
): readonly ReferenceNeed[] {
  return ref?.name === undefined ? [] : [{ kind, name: ref.name, field, ...how }];
}
