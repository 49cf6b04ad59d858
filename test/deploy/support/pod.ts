import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { request } from 'undici';
import { startBreakablePlane, type BreakablePlane } from '../../support/breakable-plane.ts';
import { poll } from '../../../src/sandbox/poll.ts';
import { inTime } from '../../../src/base/time.ts';
import { realClock } from '../../../src/cli/machine.ts';
import { freePorts } from '../../../src/sandbox/control-plane/ports.ts';
import { progressOn } from '../../../src/sandbox/binaries/progress.ts';
import { findBinaries } from '../../../src/sandbox/binaries/sources.ts';
import { temporaryFolder } from '../../../src/sandbox/data-folder.ts';
import { programPlaces } from '../../../src/config.ts';
import { runProgram } from './programs.ts';
import { NotRun } from './report.ts';

const overlay = join(import.meta.dirname, '..', '..', '..', 'deploy', 'kustomize', 'overlays', 'cluster-wide');
const namespace = 'apphosting-system';
const credentials = '/var/run/secrets/kubernetes.io/serviceaccount';

/** How an image says that it is run. */
export interface Start {
  readonly User: string;
  readonly Entrypoint: readonly string[];
  readonly Env: readonly string[];
}

/** Runs the tree of an image as the pod of our Deployment, against a real API server; returns what was wrong with it. */
export async function runInPod(tree: string, start: Start): Promise<readonly string[]> {
  const able = await runProgram('unshare', ['--mount', '--pid', '--fork', 'true']).catch(() => undefined);
  if (able?.code !== 0) throw new NotRun('this user may not make namespaces of processes (unshare)');
  const binaries = await findBinaries(programPlaces(), progressOn(process.stderr));
  const folder = await temporaryFolder('tests');
  const plane = await startBreakablePlane({ dir: folder.dir, binaries, say: () => undefined });
  try {
    const kubectl = async (...args: readonly string[]) => {
      const { code, stdout, stderr } = await runProgram(binaries.kubectl, [
        '--kubeconfig',
        plane.kubeconfigPath,
        ...args,
      ]);
      if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
      return stdout;
    };
    await kubectl('apply', '--server-side', '-k', overlay);
    await mountCredentials(tree, plane, await kubectl('-n', namespace, 'create', 'token', 'apphosting-operator'));
    const args = await kubectl('-n', namespace, 'get', 'deployment', 'apphosting-operator', '-o', 'jsonpath={..args}');
    const holder = () =>
      kubectl('-n', namespace, 'get', 'lease', '--ignore-not-found', '-o', 'jsonpath={..holderIdentity}');
    return await live(tree, start, plane, JSON.parse(args) as readonly string[], holder);
  } finally {
    await plane.stop();
    await folder.release();
  }
}

/** What the kubelet puts into each pod. */
async function mountCredentials(tree: string, { ca }: BreakablePlane, token: string): Promise<void> {
  const into = join(tree, credentials);
  await mkdir(into, { recursive: true });
  await mkdir(join(tree, 'proc'), { recursive: true });
  for (const [name, text] of Object.entries({ token: token.trim(), 'ca.crt': ca, namespace }))
    await writeFile(join(into, name), text, { mode: 0o644 });
}

async function live(
  tree: string,
  start: Start,
  plane: BreakablePlane,
  args: readonly string[],
  holder: () => Promise<string>,
): Promise<readonly string[]> {
  const [port = 0] = await freePorts(1);
  const pod = inPod(
    tree,
    start,
    plane,
    args.map((arg) => arg.replace(/^(--metrics-listen)=.*/u, `$1=127.0.0.1:${port}`)),
  );
  try {
    const comes = async (path: string, text: string) => {
      const look = async () => ((await answer(port, path))?.includes(text) === true ? true : undefined);
      return (await poll(look, { everyMs: 200, deadlineMs: 120_000, over: pod.isOver })) === true;
    };
    if (!(await comes('/readyz', ''))) return [`it does not get ready: ${pod.printed()}`];
    const wrong = [
      ...((await comes('/metrics', 'apphosting_leader 1')) ? [] : [`it does not take the lease: ${pod.printed()}`]),
      ...((await comes('/healthz', '')) ? [] : ['/healthz does not answer']),
    ];
    const inside = await firstProcessIn(pod.pid);
    wrong.push(...wrongInside(inside, start));
    const began = performance.now();
    process.kill(inside.pid, 'SIGTERM');
    const code = await inTime(realClock, 40_000, pod.ended);
    process.stdout.write(`  it ended ${((performance.now() - began) / 1_000).toFixed(1)} s after SIGTERM\n`);
    if (code?.value !== 0) wrong.push(`after SIGTERM it ended with ${String(code?.value)}: ${pod.printed()}`);
    if ((await holder()) !== '') wrong.push('it did not give the lease back');
    return wrong;
  } finally {
    pod.kill();
  }
}

/** Starts it as the first process of a namespace of processes, on a root that is mounted read-only. */
function inPod(tree: string, start: Start, plane: BreakablePlane, args: readonly string[]) {
  const { hostname, port } = new URL(plane.url);
  const kubelet = { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port, POD_NAMESPACE: namespace };
  const variables = [...start.Env, ...Object.entries(kubelet).map(([name, value]) => `${name}=${value}`)];
  const mounts = ['mount --bind "$0" "$0"', 'mount -o remount,ro,bind "$0"', 'mount -t proc proc "$0/proc"'];
  const prepare = ['sh', '-c', [...mounts, 'exec "$@"'].join(' && '), tree];
  const enter = ['env', '-i', ...variables, '/usr/sbin/chroot', `--userspec=${start.User}`, tree];
  const flags = ['--mount', '--pid', '--fork', '--kill-child'];
  const child = spawn('unshare', [...flags, ...prepare, ...enter, ...start.Entrypoint, ...args]);
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (printed += String(chunk)));
  const ended = once(child, 'exit').then(([code]: (number | null)[]) => code ?? null);
  let over = false;
  void ended.then(() => (over = true));
  return {
    pid: child.pid ?? 0,
    ended,
    isOver: () => over,
    printed: () => printed.slice(-2_000),
    kill: () => void child.kill('SIGKILL'),
  };
}

function wrongInside({ status, mounts }: { status: string; mounts: readonly string[] }, { User }: Start) {
  return [
    ...(status.includes(`\nUid:\t${User.split(':', 1)[0]}\t`) ? [] : ['it runs as another user']),
    ...(/\nNSpid:.*\t1\n/u.test(status) ? [] : ['it is not process 1']),
    ...(mounts.some((line) => / \/ ro[ ,]/u.test(line)) ? [] : [`its root can be written: ${mounts.join('; ')}`]),
  ];
}

/** What the kernel says of the process that the new namespace began with. */
async function firstProcessIn(unshare: number) {
  const children = await readFile(`/proc/${unshare}/task/${unshare}/children`, 'utf8');
  const pid = Number(children.trim().split(' ', 1)[0]);
  const [status, mounts] = await Promise.all([
    readFile(`/proc/${pid}/status`, 'utf8'),
    readFile(`/proc/${pid}/mountinfo`, 'utf8'),
  ]);
  return { pid, status, mounts: mounts.split('\n') };
}

async function answer(port: number, path: string): Promise<string | undefined> {
  try {
    const { statusCode, body } = await request(`http://127.0.0.1:${port}${path}`, {
      signal: AbortSignal.timeout(5_000),
    });
    const text = await body.text();
    return statusCode === 200 ? text : undefined;
  } catch {
    return undefined;
  }
}
