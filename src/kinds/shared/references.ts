/** References of a spec: by the name of a resource, or by an id of the service. */
import type { ReferenceNeed } from '../../engine/kind/contract/define.ts';
import type { Pass } from '../../engine/kind/contract/pass.ts';

/** A reference as specs state it. */
export interface Reference {
  readonly name?: string | undefined;
  readonly externalId?: string | undefined;
}

/** The id that a reference stands for; undefined while the resource that it names has none. */
export function idOf(
  kind: string,
  ref: Reference | undefined,
  { referred }: Pick<Pass, 'referred'>,
): string | undefined {
  return ref?.externalId ?? (ref?.name === undefined ? undefined : referred(kind, ref.name)?.id);
}

/** The resource that a reference names, as what its spec needs; none where it names an id. */
export function needOf(
  kind: string,
  ref: Reference | undefined,
  field: string,
  how: Pick<ReferenceNeed, 'optional' | 'withoutId'> = {},
): readonly ReferenceNeed[] {
  return ref?.name === undefined ? [] : [{ kind, name: ref.name, field, ...how }];
}
