/** The tree of an account: its apps, their environments, and what is about each of those. */
import { keyOfObject, partsOfKey } from '../../engine/objects/stored.ts';
import type { KubeObject } from '../../engine/ports.ts';
import { accountKeyOf, conditionOf, isCurrent, referencesOf } from '../cluster/objects.ts';

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
export function treeOf(objects: readonly KubeObject[]): readonly Branch[] {
  const byKey = new Map(objects.map((object) => [keyOfObject(object), object]));
  const children = new Map<string, KubeObject[]>();
  const roots: KubeObject[] = [];
  for (const object of objects) {
    const above = [
      ...referencesOf(object).filter((key) => rankOf(key) < rankOf(keyOfObject(object))),
      accountKeyOf({ ...object, ...object.metadata }),
    ];
    const parent = above.filter((key) => key !== undefined).find((key) => byKey.has(key));
    if (parent === undefined) roots.push(object);
    else children.set(parent, [...(children.get(parent) ?? []), object]);
  }
  const branchOf = (object: KubeObject): Branch => {
    const key = keyOfObject(object);
    const ready = conditionOf(object, 'Ready');
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
  return sorted(roots).map(branchOf);
}

const ranks = ['HostingAccount', 'ClusterHostingAccount', 'SolutionInstallation', 'HostedApp', 'AppEnvironment'];

/** An object stands under what comes before it: an alert under its environment, and not under its contact points. */
function rankOf(key: string): number {
  const at = ranks.indexOf(partsOfKey(key).kind);
  if (key.startsWith('ContactPoint/')) return ranks.length + 1;
  return at < 0 ? ranks.length : at;
}

function sorted(objects: readonly KubeObject[]): readonly KubeObject[] {
  const order = (object: KubeObject) => `${rankOf(keyOfObject(object))} ${keyOfObject(object)}`;
  return objects.toSorted((a, b) => (order(a) < order(b) ? -1 : 1));
}

function detailOf({ status }: KubeObject): string | undefined {
  const state = typeof status === 'object' && status !== null && 'state' in status ? status.state : undefined;
  return typeof state === 'string' ? state.replaceAll(/\p{C}+/gu, ' ') : undefined;
}
