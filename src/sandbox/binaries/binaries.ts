import { access, constants } from 'node:fs/promises';
import { join } from 'node:path';

/** The programs of a control plane, as paths. */
export interface Binaries {
  readonly etcd: string;
  readonly apiServer: string;
  readonly kubectl: string;
  /** Official archives do not have it; without it namespaces do not finish deleting. */
  readonly controllerManager: string | undefined;
}

/** The file names of the programs in a folder of them. */
export const programNames = {
  etcd: 'etcd',
  apiServer: 'kube-apiserver',
  kubectl: 'kubectl',
  controllerManager: 'kube-controller-manager',
} as const;

/** The programs in a folder, or the names of the ones that are missing there. */
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
