/** The Secrets and ConfigMaps of a plan: the given ones, and placeholders for those that are only named. */
import type { Actor, Scene } from './scene.ts';
import { isRecord } from '../../base/json.ts';
import type { Needs } from '../../engine/kind/contract/define.ts';
import type { AccountReader } from '../account/reader.ts';
import { kinds } from '../../kinds/index.ts';

/** A Secret or a ConfigMap. */
interface Material {
  readonly kind: 'Secret' | 'ConfigMap';
  readonly namespace: string;
  readonly name: string;
  readonly values: Readonly<Record<string, string>>;
}

/** The Secrets, ConfigMaps and references of an object; none if its spec is not valid. */
export function needsOf({ kind, spec }: Pick<Actor, 'kind' | 'spec'>): Needs {
  const found = kinds.find((one) => one.kind === kind);
  const parsed = found?.spec.safeParse(spec);
  return found === undefined || parsed?.success !== true ? {} : found.needs(parsed.data);
}

/** The placeholder for an unknown value: an address, because some fields accept nothing else. */
function standIn(kind: string, namespace: string, name: string, key: string): string {
  return `https://unknown.invalid/${kind}/${namespace}/${name}/${encodeURIComponent(key)}`;
}

/** All Secrets and ConfigMaps that the objects of a scene need. */
export function materialsOf(
  { actors, secrets, configMaps }: Scene,
  readers: readonly AccountReader[],
  operatorNamespace: string,
  tokenPrefix: string,
): readonly Material[] {
  const all = new Map<string, Material>();
  const add = (
    kind: Material['kind'],
    namespace: string,
    name: string,
    values: Material['values'],
    wins: boolean,
  ): void => {
    const at = `${kind}/${namespace}/${name}`;
    const known = all.get(at)?.values ?? {};
    all.set(at, { kind, namespace, name, values: wins ? { ...known, ...values } : { ...values, ...known } });
  };
  const given = { Secret: secrets, ConfigMap: configMaps } as const;
  for (const kind of ['Secret', 'ConfigMap'] as const)
    for (const [place, values] of given[kind]) {
      const [namespace = '', name = ''] = place.split('/');
      add(kind, namespace, name, values, true);
    }
  for (const actor of actors) {
    const { namespace } = actor;
    const needs = needsOf(actor);
    for (const [kind, wanted] of [
      ['Secret', needs.secrets ?? []],
      ['ConfigMap', needs.configMaps ?? []],
    ] as const)
      for (const { name, key } of wanted) {
        // One that stands empty among the documents is filled by somebody else; one that has other keys lacks this one.
        const values = given[kind].get(`${namespace}/${name}`) ?? {};
        if (Object.keys(values).length > 0) continue;
        add(kind, namespace, name, { [key]: standIn(kind, namespace, name, key) }, false);
      }
    const accountId = actor.spec['externalId'];
    if (typeof accountId !== 'string' || !actor.kind.endsWith('HostingAccount')) continue;
    const where = actor.kind === 'HostingAccount' ? namespace : operatorNamespace;
    const endpoint = readers.find((reader) => reader.accountId === accountId)?.endpoint ?? 'unknown.invalid';
    const baseUrl = `${isLoopback(endpoint) ? 'http' : 'https'}://${endpoint}`;
    for (const field of ['credentialsRef', 'dangerousCredentialsRef']) {
      const ref = actor.spec[field];
      const name = isRecord(ref) ? ref['name'] : undefined;
      if (typeof name === 'string') add('Secret', where, name, { baseUrl, token: `${tokenPrefix}${accountId}` }, true);
    }
  }
  return [...all.values()];
}

function isLoopback(endpoint: string): boolean {
  return /^(localhost|127\.|\[::1\])/.test(endpoint);
}
