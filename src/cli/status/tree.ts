/** Builds the tree of an account: its apps, their environments, and the resources that refer to these. */
import { isRecord } from '../../base/json.ts';
import { partsOfKey, referredBy, type ParsedObject } from '../../engine/objects/stored.ts';
import { printable, readinessOf, type Readiness } from '../cluster/objects.ts';

/** An object in the tree, together with the objects below it. */
export interface Branch extends Readiness {
  readonly key: string;
  /** The value of `status.state`: the state of the object in the service, such as `Running` for an environment. */
  readonly detail: string | undefined;
  readonly under: readonly Branch[];
}

/**
 * Builds a tree of objects for each account. An object stands below an object that it refers to, or else below its
 * account. If none of these was read, the object is the root of its own tree.
 */
export function treeOf(objects: readonly ParsedObject[]): readonly Branch[] {
  const keys = new Set(objects.map(({ key }) => key));
  const children = Map.groupBy(objects, (one) => {
    const above = [...referredBy(one).filter((key) => rankOf(key) < rankOf(one.key)), one.account];
    return above.find((key) => key !== one.key && keys.has(key));
  });
  const branchOf = (one: ParsedObject): Branch => {
    const under = sorted(children.get(one.key) ?? []).map(branchOf);
    return { key: one.key, ...readinessOf(one), detail: detailOf(one.object), under };
  };
  return sorted(children.get(undefined) ?? []).map(branchOf);
}

const ranks = ['HostingAccount', 'ClusterHostingAccount', 'SolutionInstallation', 'HostedApp', 'AppEnvironment'];

/**
 * Returns a number that says how high the kind of an object stands in the tree; 0 is the top. If an object refers to an
 * object with a lower number, it stands below that object: an alert stands below its environment, but not below its
 * contact point.
 */
function rankOf(key: string): number {
  const at = ranks.indexOf(partsOfKey(key).kind);
  if (key.startsWith('ContactPoint/')) return ranks.length + 1;
  return at < 0 ? ranks.length : at;
}

function sorted(objects: readonly ParsedObject[]): readonly ParsedObject[] {
  const order = ({ key }: ParsedObject) => `${rankOf(key)} ${key}`;
  return objects.toSorted((a, b) => (order(a) < order(b) ? -1 : 1));
}

function detailOf({ status }: ParsedObject['object']): string | undefined {
  const state = isRecord(status) ? status['state'] : undefined;
  return typeof state === 'string' ? printable(state) : undefined;
}
