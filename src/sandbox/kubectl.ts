import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { environmentWith } from '../config.ts';
import type { Binaries } from './binaries/binaries.ts';
import { CannotStart } from './cannot-start.ts';
import { startControlPlane } from './control-plane/control-plane.ts';
import { isRunningIn, keptFolder, runningFolders } from './data-folder.ts';

/**
 * Runs kubectl in the sandbox with the data folder `data`, or in the only running sandbox if `data` is undefined. Returns the
 * exit code.
 */
export async function kubectl(
  binaries: Binaries,
  data: string | undefined,
  args: readonly string[],
  say: (text: string) => void,
): Promise<number> {
  if (data === undefined) return run(binaries, await theOnlyRunning(), args);
  const dir = resolve(data);
  if (isRunningIn(dir)) return run(binaries, dir, args);
  if (!existsSync(join(dir, 'run', 'etcd'))) throw new CannotStart(`no sandbox was ever started in ${dir}`);
  say(`no sandbox is running in ${dir}: starting only Kubernetes, for this command`);
  await using ending = new AsyncDisposableStack();
  ending.defer((await keptFolder(dir)).release);
  ending.defer((await startControlPlane({ dir, binaries, say })).stop);
  return await run(binaries, dir, args);
}

async function theOnlyRunning(): Promise<string> {
  const [first, ...others] = await runningFolders();
  if (first === undefined)
    throw new CannotStart('no sandbox is running: start one with npm start, or name its folder with --data DIR');
  if (others.length === 0) return first;
  const folders = [first, ...others].join(', ');
  throw new CannotStart(`several sandboxes are running: name the folder of one sandbox with --data: ${folders}`);
}

async function run({ kubectl: command }: Binaries, dir: string, args: readonly string[]): Promise<number> {
  // Keep kubectl's cache in the sandbox's folder, not in the home folder.
  const env = environmentWith({ KUBECACHEDIR: join(dir, 'run', 'kubectl') });
  const child = spawn(command, ['--kubeconfig', join(dir, 'kubeconfig'), ...args], { stdio: 'inherit', env });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}
