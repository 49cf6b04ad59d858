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
 * Builds a tree of objects for each account. If no object was read below which an object could stand, the object
 * becomes the root of its own tree.
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
 * Returns the rank of an object's kind. If an object refers to an object of lower rank, it stands below that object in
 * the tree: an alert stands below its environment, but not below its contact point.
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
