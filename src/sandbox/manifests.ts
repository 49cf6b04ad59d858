import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { CannotStart } from './control-plane/cannot-start.ts';

/** A Kubernetes object as it stands in a file. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly [field: string]: unknown;
}

/** The objects in a folder's YAML files and in its subfolders, in the order of their paths. */
export async function manifestsIn(dir: string): Promise<readonly Manifest[]> {
  const isFolder = await stat(dir).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!isFolder) throw new CannotStart(`there is no folder ${dir}`);
  const paths = (await readdir(dir, { recursive: true })).filter(isManifestFile).toSorted();
  const perFile = await Promise.all(
    paths.map(async (path) => manifestsOf(await readFile(join(dir, path), 'utf8'), join(dir, path))),
  );
  return perFile.flat();
}

/** The objects in one YAML text; `path` is for error messages. */
export function manifestsOf(text: string, path: string): readonly Manifest[] {
  return [...parseAllDocuments(text)].flatMap((document) => {
    const [problem] = document.errors;
    if (problem !== undefined) throw new CannotStart(`${path}: ${problem.message}`);
    const value: unknown = document.toJS();
    if (value === null || value === undefined) return [];
    if (!isManifest(value)) throw new CannotStart(`${path}: a document without apiVersion, kind and metadata.name`);
    return [value];
  });
}

/** Namespaces first, everything else in its order. */
export function inApplyOrder(manifests: readonly Manifest[]): readonly Manifest[] {
  const isNamespace = ({ kind }: Manifest) => kind === 'Namespace';
  return [...manifests.filter(isNamespace), ...manifests.filter((manifest) => !isNamespace(manifest))];
}

function isManifestFile(path: string): boolean {
  return /\.ya?ml$/.test(path) && !/(^|\/)kustomization\.ya?ml$/.test(path);
}

function isManifest(value: unknown): value is Manifest {
  if (typeof value !== 'object' || value === null) return false;
  const { apiVersion, kind, metadata } = value as Record<string, unknown>;
  if (typeof apiVersion !== 'string' || typeof kind !== 'string') return false;
  return typeof metadata === 'object' && metadata !== null && 'name' in metadata && typeof metadata.name === 'string';
}
