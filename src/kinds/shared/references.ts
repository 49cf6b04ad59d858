/** References in a spec: to a resource by its name, or to an object of the service by its id. */
import type { ReferenceNeed } from '../../engine/kind/contract/define.ts';
import type { Pass } from '../../engine/kind/contract/pass.ts';

/** A reference in a spec. */
export interface Reference {
  readonly name?: string | undefined;
  readonly externalId?: string | undefined;
}

/** The id in the service that a reference stands for; undefined while the named resource has none. */
export function idOf(
  kind: string,
  ref: Reference | undefined,
  { referred }: Pick<Pass, 'referred'>,
): string | undefined {
  return ref?.externalId ?? (ref?.name === undefined ? undefined : referred(kind, ref.name)?.id);
}

/** The need for the resource that a reference names; empty if the reference gives an id. */
export function needOf(
  kind: string,
  ref: Reference | undefined,
  field: string,
  how: Pick<ReferenceNeed, 'optional' | 'withoutId'> = {},
): readonly ReferenceNeed[] {
  return ref?.name === undefined ? [] : [{ kind, name: ref.name, field, ...how }];
}
