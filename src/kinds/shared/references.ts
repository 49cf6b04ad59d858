/** Resolves references in a spec: to a resource by its name, or to an object of the service by its id. */
import type { ReferenceNeed } from '../../engine/kind/contract/define.ts';
import type { Pass } from '../../engine/kind/contract/pass.ts';
import type { objectOrIdRef } from '../../engine/kind/schema/schema.ts';
import type { z } from 'zod';

/** A reference in a spec: to a resource by its name, or to an object of the service by its id. */
type Reference = z.output<ReturnType<typeof objectOrIdRef>>;

/** Returns the id in the service that a reference stands for; undefined while the referenced resource has no id. */
export function idOf(
  kind: string,
  ref: Reference | undefined,
  { referred }: Pick<Pass, 'referred'>,
): string | undefined {
  return ref?.externalId ?? (ref?.name === undefined ? undefined : referred(kind, ref.name)?.id);
}

/** Returns the resource that a reference requires, as a list; the list is empty if the reference gives an id. */
export function needOf(
  kind: string,
  ref: Reference | undefined,
  field: string,
  how: Pick<ReferenceNeed, 'optional' | 'withoutId'> = {},
): readonly ReferenceNeed[] {
  return ref?.name === undefined ? [] : [{ kind, name: ref.name, field, ...how }];
}
