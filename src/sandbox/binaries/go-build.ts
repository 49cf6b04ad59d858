import { execFile, spawn } from 'node:child_process';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { environmentWith } from '../../config.ts';
import { programNames } from './binaries.ts';
import { CannotStart, codeOf } from '../cannot-start.ts';
import type { Work } from './progress.ts';
import { KUBERNETES_VERSION } from './releases.ts';

const modules = join(import.meta.dirname, 'build');
const leastGo = { major: 1, minor: 26 };

/** The environment variables with which Go builds exactly the module versions that go.mod names, and needs no C compiler. */
export const goSettings = {
  CGO_ENABLED: '0',
  GOTOOLCHAIN: 'local',
  GOWORK: 'off',
  GOFLAGS: '-mod=readonly -buildvcs=false',
  // Collect garbage less often: a compiler process ends so soon that collecting its garbage is not worth the time. This saves a
  // sixth of the CPU time of a build.
  GOGC: '400',
};

/**
 * The arguments of `go build`: print the name of each compiled package, and leave out debug information (DWARF), which nobody
 * reads and which takes a sixth of the CPU time.
 */
export const goBuild = ['build', '-v', '-trimpath', '-gcflags=all=-dwarf=false'];

/** Returns the reason why Go on this machine cannot build the control plane; undefined if it can build it. */
export async function whyNotGo(go = 'go'): Promise<string | undefined> {
  try {
    const environment = environmentWith({ GOTOOLCHAIN: 'local' });
    const { stdout } = await promisify(execFile)(go, ['env', 'GOVERSION'], { timeout: 10_000, env: environment });
    const version = stdout.trim();
    return isRecentGo(version) ? undefined : `Go 1.26 or newer is needed, but the version on PATH is ${version}`;
  } catch (error) {
    return codeOf(error) === 'ENOENT' ? 'Go 1.26 or newer is not on PATH' : 'the program "go" on PATH cannot be run';
  }
}

/** True if a Go version, such as `go1.26.8`, is new enough to build the control plane. */
export function isRecentGo(version: string): boolean {
  const [, major, minor] = /^(?:devel )?go(\d+)\.(\d+)/.exec(version)?.map(Number) ?? [];
  if (major === undefined || minor === undefined) return false;
  return major > leastGo.major || (major === leastGo.major && minor >= leastGo.minor);
}

/** Builds etcd, kube-apiserver, kube-controller-manager and kubectl from Go modules into a folder. */
export async function buildWithGo(into: string, work: Work, go = 'go'): Promise<void> {
  const [major = '', minor = ''] = KUBERNETES_VERSION.slice(1).split('.');
  const version = 'k8s.io/component-base/version';
  const flags = [
    '-s -w',
    `-X ${version}.gitVersion=${KUBERNETES_VERSION}`,
    `-X ${version}.gitMajor=${major}`,
    `-X ${version}.gitMinor=${minor}`,
  ];
  const args = [...goBuild, '-ldflags', flags.join(' '), '-o', `${into}/`, 'tool'];
  await runGo(go, args, environmentWith(goSettings), work);
  // Go names the program after its source folder, `server`, so rename the program to `etcd`.
  await rename(join(into, 'server'), join(into, programNames.etcd));
}

type Environment = Record<string, string | undefined>;

async function runGo(go: string, args: string[], env: Environment, { detail, signal }: Work): Promise<void> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  // Start the build in a process group of its own, so that Go's compilers and linkers can be ended together with it.
  const child = spawn(go, args, { cwd: modules, env, stdio: ['ignore', 'ignore', 'pipe'], detached: true });
  const stop = () => {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL');
    reject(new CannotStart('stopped'));
  };
  signal.addEventListener('abort', stop, { once: true });
  let compiled = 0;
  let last = '';
  createInterface({ input: child.stderr }).on('line', (text) => {
    last = text;
    if (text.startsWith('go: downloading ')) return detail(text.slice('go: '.length));
    compiled += 1;
    detail(`${compiled} packages compiled`);
  });
  child.once('error', reject);
  child.once('close', (code) => {
    if (code === 0) resolve();
    else reject(new CannotStart(`go build failed: ${last}`));
  });
  try {
    await promise;
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
