import { documentsIn, readTexts, type Unreadable } from '../cli/documents/load.ts';
import { CannotStart } from './cannot-start.ts';

/** A Kubernetes object from a manifest file. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly [field: string]: unknown;
}

/** Reads the manifests in a folder and its subfolders, in the order of their paths. */
export async function manifestsIn(dir: string): Promise<readonly Manifest[]> {
  const { texts, unreadable } = await readTexts(dir);
  return manifestsOf(texts, unreadable);
}

/**
 * Parses the Kubernetes objects in manifest files. `texts` maps the path of each file to its content. Throws `CannotStart` if
 * something in the files is not a Kubernetes object.
 */
export function manifestsOf(texts: ReadonlyMap<string, string>, before: readonly Unreadable[] = []): Manifest[] {
  const { loaded, unreadable } = documentsIn(texts);
  const [flaw] = [...before, ...unreadable];
  if (flaw !== undefined) throw new CannotStart(`${flaw.place.file}:${flaw.place.line}: ${flaw.message}`);
  return loaded.map(({ object }) => object as Manifest);
}

/** Sorts manifests into the order for applying: namespaces first, all others in their given order. */
export function inApplyOrder(manifests: readonly Manifest[]): readonly Manifest[] {
  const isNamespace = ({ kind }: Manifest) => kind === 'Namespace';
  return [...manifests.filter(isNamespace), ...manifests.filter((manifest) => !isNamespace(manifest))];
}
