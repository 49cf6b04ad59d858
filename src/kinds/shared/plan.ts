import type { Pass } from '../../engine/kind/contract/pass.ts';
import type { Lifecycle } from '../../engine/kind/planner/plan.ts';

/** A spec with the fields that objects of the service share. */
interface ObjectSpec {
  readonly name?: string | undefined;
  readonly externalId?: string | undefined;
  readonly lifecycle?: { readonly [Field in keyof Lifecycle]?: Lifecycle[Field] | undefined } | undefined;
}

interface Item {
  readonly name: string;
  readonly createdAtMs?: number | undefined;
}

/** What plans share: an object has the name and lifecycle that its spec says, or those of its kind. */
export function byName({ onDelete, onMissing }: Pick<Lifecycle, 'onDelete' | 'onMissing'>) {
  return {
    name: ({ spec, subject }: Pass<ObjectSpec, unknown>) => spec.name ?? subject.name,
    nameOf: ({ name }: Item) => name,
    createdAtOf: ({ createdAtMs }: Item) => createdAtMs,
    externalId: ({ externalId }: ObjectSpec) => externalId,
    lifecycle: ({ lifecycle }: ObjectSpec): Lifecycle => ({
      managementPolicy: lifecycle?.managementPolicy ?? 'Manage',
      adoption: lifecycle?.adoption,
      onDelete: lifecycle?.onDelete ?? onDelete,
      onMissing: lifecycle?.onMissing ?? onMissing,
      drift: lifecycle?.drift ?? 'Correct',
    }),
  };
}
