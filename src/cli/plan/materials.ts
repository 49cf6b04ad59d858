/**
 * Collects the Secrets and ConfigMaps of a plan: those in the manifests, and placeholders for those that a spec refers to but no manifest
 * contains.
 */
import { operatorNamespace } from '../../config.ts';
import { isRecord } from '../../base/json.ts';
import { keyOf } from '../../engine/objects/stored.ts';
import type { AccountReader } from '../account/reader.ts';
import { specOf, type Materials, type Scene } from './scenes.ts';

/** A plan makes up a token for each account. The token is this prefix, followed by the id of the account. */
export const tokenPrefix = 'the-credential-of-a-plan-for-';

/**
 * The beginning of each value that a plan makes up for a Secret or ConfigMap, if no manifest contains the Secret or
 * ConfigMap.
 */
export const placeholders = 'https://unknown.invalid/';

/** Collects all Secrets and ConfigMaps that the objects of a plan need. */
export function materialsOf(scene: Scene, readers: readonly AccountReader[]): Materials {
  const all = new Map<string, Readonly<Record<string, string>>>();
  for (const [key, values] of [...placeholdersIn(scene), ...scene.materials, ...credentialsIn(scene, readers)])
    all.set(key, { ...all.get(key), ...values });
  return all;
}

type Material = readonly [key: string, values: Readonly<Record<string, string>>];

/**
 * Makes placeholder values for those keys of Secrets and ConfigMaps that a spec refers to but no manifest contains. The
 * placeholders are URLs, because some fields accept nothing else.
 */
function placeholdersIn({ objects, materials }: Scene): readonly Material[] {
  return objects.flatMap(({ needs, object: { metadata } }) => {
    const { secrets = [], configMaps = [] } = needs;
    const wanted = [
      ...secrets.map((need) => ({ kind: 'Secret', ...need })),
      ...configMaps.map((need) => ({ kind: 'ConfigMap', ...need })),
    ];
    return wanted.flatMap(({ kind, name, key }): readonly Material[] => {
      const place = keyOf(kind, metadata.namespace, name);
      // Make placeholders for a Secret or ConfigMap only if the manifests contain none of its values. If they contain
      // some of its values, every other key counts as missing.
      if (Object.keys(materials.get(place) ?? {}).length > 0) return [];
      return [[place, { [key]: `${placeholders}${place}/${encodeURIComponent(key)}` }]];
    });
  });
}

/**
 * Makes up a Secret with credentials for each account. The token in this Secret tells the plan which account a request
 * of the engine is for.
 */
function credentialsIn({ objects }: Scene, readers: readonly AccountReader[]): readonly Material[] {
  return objects.flatMap((one) => {
    const spec = specOf(one);
    const accountId = spec['externalId'];
    if (typeof accountId !== 'string' || one.kind.life !== 'account') return [];
    const where = one.object.metadata.namespace ?? operatorNamespace;
    const endpoint = readers.find((reader) => reader.accountId === accountId)?.endpoint ?? 'unknown.invalid';
    const baseUrl = `https://${endpoint}`;
    return [spec['credentialsRef'], spec['dangerousCredentialsRef']].flatMap((ref): readonly Material[] => {
      const name = isRecord(ref) ? ref['name'] : undefined;
      if (typeof name !== 'string') return [];
      return [[keyOf('Secret', where, name), { baseUrl, token: `${tokenPrefix}${accountId}` }]];
    });
  });
}
