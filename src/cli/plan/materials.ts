/** The Secrets and ConfigMaps of a plan: the given ones, and placeholders for those that are only named. */
import { isRecord } from '../../base/json.ts';
import { keyOf, takeApart } from '../../engine/objects/stored.ts';
import type { AccountReader } from '../account/reader.ts';
import type { Materials, Scene } from './scenes.ts';

/** Who reads a plan's Secrets, and as whom. */
export interface Readership {
  readonly readers: readonly AccountReader[];
  readonly operatorNamespace: string;
  /** What the token of an account begins with; its id follows. */
  readonly tokenPrefix: string;
}

/** All Secrets and ConfigMaps that the objects of a scene need. */
export function materialsOf(scene: Scene, readership: Readership): Materials {
  const all = new Map<string, Readonly<Record<string, string>>>();
  for (const [key, values] of [...placeholdersIn(scene), ...scene.materials, ...credentialsIn(scene, readership)])
    all.set(key, { ...all.get(key), ...values });
  return all;
}

type Material = readonly [key: string, values: Readonly<Record<string, string>>];

/** Values for what is only named: addresses, because some fields accept nothing else. */
function placeholdersIn({ actors, materials }: Scene): readonly Material[] {
  return actors.flatMap((actor) => {
    const { secrets = [], configMaps = [] } = takeApart(actor.kind, actor).needs;
    const wanted = [
      ...secrets.map((need) => ({ kind: 'Secret', ...need })),
      ...configMaps.map((need) => ({ kind: 'ConfigMap', ...need })),
    ];
    return wanted.flatMap(({ kind, name, key }): readonly Material[] => {
      const place = keyOf(kind, actor.namespace, name);
      // One that stands empty among the documents is filled by somebody else; one that has other keys lacks this one.
      if (Object.keys(materials.get(place) ?? {}).length > 0) return [];
      return [[place, { [key]: `https://unknown.invalid/${place}/${encodeURIComponent(key)}` }]];
    });
  });
}

/** The Secrets of the accounts, which lead to what was read of each. */
function credentialsIn(
  { actors }: Scene,
  { readers, operatorNamespace, tokenPrefix }: Readership,
): readonly Material[] {
  return actors.flatMap(({ kind, namespace, spec }) => {
    const accountId = spec['externalId'];
    if (typeof accountId !== 'string' || kind.life !== 'account') return [];
    const where = kind.scope === 'Namespaced' ? namespace : operatorNamespace;
    const endpoint = readers.find((reader) => reader.accountId === accountId)?.endpoint ?? 'unknown.invalid';
    const baseUrl = `${isLoopback(endpoint) ? 'http' : 'https'}://${endpoint}`;
    return [spec['credentialsRef'], spec['dangerousCredentialsRef']].flatMap((ref): readonly Material[] => {
      const name = isRecord(ref) ? ref['name'] : undefined;
      if (typeof name !== 'string') return [];
      return [[keyOf('Secret', where, name), { baseUrl, token: `${tokenPrefix}${accountId}` }]];
    });
  });
}

function isLoopback(endpoint: string): boolean {
  return /^(localhost|127\.|\[::1\])/.test(endpoint);
}
