import { documentsIn, readTexts, type Unreadable } from '../cli/documents/load.ts';
import { CannotStart } from './control-plane/cannot-start.ts';

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

/** The objects in texts, by their paths. Throws `CannotStart` at the first that is none. */
export function manifestsOf(
  texts: ReadonlyMap<string, string>,
  before: readonly Unreadable[] = [],
): readonly Manifest[] {
  const { loaded, unreadable } = documentsIn(texts);
  const [flaw] = [...before, ...unreadable];
  if (flaw !== undefined) throw new CannotStart(`${flaw.place.file}:${flaw.place.line}: ${flaw.message}`);
  return loaded.map(({ object }) => object as Manifest);
}

/** Namespaces first, everything else in its order. */
export function inApplyOrder(manifests: readonly Manifest[]): readonly Manifest[] {
  const isNamespace = ({ kind }: Manifest) => kind === 'Namespace';
  return [...manifests.filter(isNamespace), ...manifests.filter((manifest) => !isNamespace(manifest))];
}
