/** The tree of an account: its apps, their environments, and what is about each of those. */
import { isRecord } from '../../base/json.ts';
import { partsOfKey, referredBy, type ParsedObject } from '../../engine/objects/stored.ts';
import { conditionOf, isCurrent, printable } from '../cluster/objects.ts';

/** An object with what stands under it. */
export interface Branch {
  readonly key: string;
  readonly ready: string;
  readonly reason: string;
  readonly message: string;
  readonly since: string | undefined;
  /** One more thing to know: the state of an environment, of an alert. */
  readonly detail: string | undefined;
  readonly under: readonly Branch[];
}

/** Every account with everything that belongs to it; what belongs to none that was read stands by itself. */
export function treeOf(objects: readonly ParsedObject[]): readonly Branch[] {
  const keys = new Set(objects.map(({ key }) => key));
  const children = Map.groupBy(objects, (one) => {
    const above = [...referredBy(one).filter((key) => rankOf(key) < rankOf(one.key)), one.account];
    return above.find((key) => key !== one.key && keys.has(key));
  });
  const branchOf = ({ key, object, status }: ParsedObject): Branch => {
    const ready = conditionOf({ status }, 'Ready');
    return {
      key,
      ready: isCurrent(object) ? (ready?.status ?? 'Unknown') : 'Unknown',
      reason: isCurrent(object) ? (ready?.reason ?? '') : 'NotSeen',
      message: ready?.message ?? '',
      since: ready?.since,
      detail: detailOf(object),
      under: sorted(children.get(key) ?? []).map(branchOf),
    };
  };
  return sorted(children.get(undefined) ?? []).map(branchOf);
}

const ranks = ['HostingAccount', 'ClusterHostingAccount', 'SolutionInstallation', 'HostedApp', 'AppEnvironment'];

/** An object stands under what comes before it: an alert under its environment, and not under its contact points. */
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
