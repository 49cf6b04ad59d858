/** Builds the tree of an account: its apps, their environments, and the resources that refer to these. */
import { isRecord } from '../../base/json.ts';
import { partsOfKey, referredBy, type ParsedObject } from '../../engine/objects/stored.ts';
import { printable, readinessOf, type Readiness } from '../cluster/objects.ts';

/** An object with the objects below it in the tree. */
export interface Branch extends Readiness {
  readonly key: string;
  /** The value of `status.state`: the state of the object in the service, such as `Running` for an environment. */
  readonly detail: string | undefined;
  readonly under: readonly Branch[];
}

/**
 * Builds the tree of every account. An object becomes the root of
 * a tree of its own if no object that belongs above it was read.
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
 * Returns the rank of an object's kind. In the tree, an object is placed below an object of lower rank that it refers
 * to: an alert below its environment, but not below its contact point.
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
