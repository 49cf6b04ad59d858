/** All objects of our kinds, read once and used for every question. */
import { isRecord, recordsIn } from '../../base/json.ts';
import type { AnyKind } from '../../engine/kind/contract/define.ts';
import { keyOf, partsOfKey } from '../../engine/objects/stored.ts';
import type { KubeApi, KubeObject } from '../../engine/ports.ts';
import { kinds } from '../../kinds/index.ts';
import { resourceOf } from '../operator/operator.ts';
import { listAll } from './open.ts';

/** What was read, and what could not be. */
export interface ObjectsRead {
  readonly objects: readonly KubeObject[];
  /** One sentence each: `may not list metricalerts.apphosting.dev in team-a`. */
  readonly problems: readonly string[];
}

/** The fields of a condition that commands print. */
export type ShownCondition = ReturnType<typeof conditionsOf>[number];

/** Reads every object of our kinds in a namespace, or in all. */
export async function readObjects(
  api: Pick<KubeApi, 'list'>,
  namespace: string | undefined,
  wanted: readonly AnyKind[] = kinds,
): Promise<ObjectsRead> {
  const objects: KubeObject[] = [];
  const problems: string[] = [];
  for (const kind of wanted) {
    const place = kind.scope === 'Cluster' ? undefined : namespace;
    const list = await listAll(api, resourceOf(kind), place);
    if ('problem' in list) problems.push(`${list.problem}${place === undefined ? '' : ` in namespace ${place}`}`);
    else objects.push(...list);
  }
  return { objects, problems };
}

/** The kind that people mean by a word: its name, its plural or a short name, in any case. */
export function kindNamed(word: string): AnyKind | undefined {
  const wanted = word.toLowerCase();
  return kinds.find(({ kind, plural, shortNames }) => [kind.toLowerCase(), plural, ...shortNames].includes(wanted));
}

/** The resource that `KIND/NAME` means, or a bare name where only one kind can be meant; undefined where it means none. */
export function targetIn(word: string, only?: string): { readonly kind: AnyKind; readonly name: string } | undefined {
  const [first = '', name = ''] = word.includes('/') || only === undefined ? word.split('/') : [only, word];
  const kind = kindNamed(first);
  return kind === undefined || name === '' || (only ?? kind.kind) !== kind.kind ? undefined : { kind, name };
}

/** `Kind/name` of a key, as people write it. */
export function keyInWords(key: string): string {
  const { kind, name } = partsOfKey(key);
  return `${kind}/${name}`;
}

/** The conditions of an object. */
export function conditionsOf({ status }: Pick<KubeObject, 'status'>) {
  const text = (value: unknown) => (typeof value === 'string' ? value.replaceAll(/\p{C}+/gu, ' ') : '');
  return recordsIn(status, 'conditions').map((condition) => ({
    type: text(condition['type']),
    status: text(condition['status']),
    reason: text(condition['reason']),
    message: text(condition['message']),
    since: text(condition['lastTransitionTime']) || undefined,
  }));
}

/** A condition of an object by its type. */
export function conditionOf(object: Pick<KubeObject, 'status'>, type: string): ShownCondition | undefined {
  return conditionsOf(object).find((condition) => condition.type === type);
}

/** True if status is about the newest generation of the spec. */
export function isCurrent({ metadata, status }: KubeObject): boolean {
  return isRecord(status) && status['observedGeneration'] === metadata.generation;
}

/** An object by what its spec says and where it stands. */
interface Placed {
  readonly kind: string;
  readonly namespace?: string | undefined;
  readonly spec?: unknown;
}

/** The key of the account that an object belongs to; undefined for an account. */
export function accountKeyOf({ kind, namespace = '', spec }: Placed): string | undefined {
  if (kind.endsWith('HostingAccount')) return undefined;
  const ref = isRecord(spec) && isRecord(spec['accountRef']) ? spec['accountRef'] : {};
  const name = typeof ref['name'] === 'string' ? ref['name'] : 'default';
  const isShared = ref['kind'] === 'ClusterHostingAccount';
  return isShared ? keyOf('ClusterHostingAccount', '', name) : keyOf('HostingAccount', namespace, name);
}

/** The keys of the resources that an object's spec refers to. */
export function referencesOf({ kind, metadata, spec }: KubeObject): readonly string[] {
  const found = kinds.find((one) => one.kind === kind);
  const parsed = found?.spec.safeParse(spec);
  if (found === undefined || parsed?.success !== true) return [];
  const { references = [] } = found.needs(parsed.data);
  return references.map((need) => keyOf(need.kind, metadata.namespace, need.name));
}
