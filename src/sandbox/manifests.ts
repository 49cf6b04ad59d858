import { documentsIn, readTexts, type Unreadable } from '../cli/documents/load.ts';
import { CannotStart } from './cannot-start.ts';

/** A Kubernetes object as it stands in a file. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly [field: string]: unknown;
}

/** The objects in the manifests of a folder and of its subfolders, in the order of their paths. */
export async function manifestsIn(dir: string): Promise<readonly Manifest[]> {
  const { texts, unreadable } = await readTexts(dir);
  return manifestsOf(texts, unreadable);
}

/** Parses the objects in files, given as texts by path. Throws `CannotStart` if one is no Kubernetes object. */
export function manifestsOf(
  texts: ReadonlyMap<string, string>,
  before: readonly Unreadable[] = [],
): readonly Manifest[] {
  const { loaded, unreadable } = documentsIn(texts);
  const [flaw] = [...before, ...unreadable];
  if (flaw !== undefined) throw new CannotStart(`${flaw.place.file}:${flaw.place.line}: ${flaw.message}`);
  return loaded.map(({ object }) => object as Manifest);
}

/** Sorts manifests for applying: namespaces first, all others in their order. */
export function inApplyOrder(manifests: readonly Manifest[]): readonly Manifest[] {
  const isNamespace = ({ kind }: Manifest) => kind === 'Namespace';
  return [...manifests.filter(isNamespace), ...manifests.filter((manifest) => !isNamespace(manifest))];
}
