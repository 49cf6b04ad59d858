import { access, constants } from 'node:fs/promises';
import { join } from 'node:path';

/** The paths of the programs that make up a control plane. */
export interface Binaries {
  readonly etcd: string;
  readonly apiServer: string;
  readonly kubectl: string;
  /** The path of kube-controller-manager, which the official archives lack. Without this program deleted namespaces stay in Terminating. */
  readonly controllerManager: string | undefined;
}

/** The file names of the programs of a control plane. */
export const programNames = {
  etcd: 'etcd',
  apiServer: 'kube-apiserver',
  kubectl: 'kubectl',
  controllerManager: 'kube-controller-manager',
} as const;

/**
 * Finds the programs in a folder. If programs other than kube-controller-manager are missing, returns their names
 * instead.
 */
export async function binariesIn(dir: string): Promise<Binaries | { readonly missing: readonly string[] }> {
  const names = Object.values(programNames);
  const there = await Promise.all(names.map((name) => isExecutable(join(dir, name))));
  const has = new Set(names.filter((_, at) => there[at]));
  const { controllerManager, ...needed } = programNames;
  const missing = Object.values(needed).filter((name) => !has.has(name));
  if (missing.length > 0) return { missing };
  return {
    etcd: join(dir, needed.etcd),
    apiServer: join(dir, needed.apiServer),
    kubectl: join(dir, needed.kubectl),
    controllerManager: has.has(controllerManager) ? join(dir, controllerManager) : undefined,
  };
}

async function isExecutable(path: string): Promise<boolean> {
  return access(path, constants.X_OK).then(
    () => true,
    () => false,
  );
}
