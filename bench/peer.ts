/**
 * The same work for crossplane-contrib/provider-http, which calls any REST interface, and for this operator: contact points on the
 * same control plane and the same service, one operator after the other. `bench/peer/go.mod` says which version is built; it
 * runs with the settings that it comes with, and without the rest of Crossplane.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { PatchStrategy, setHeaderOptions } from '@kubernetes/client-node';
import { environmentWith } from '../src/config.ts';
import { group, version } from '../src/engine/kind/contract/define.ts';
import { clusterAt } from '../src/sandbox/cluster.ts';
import { goSettings } from '../src/sandbox/binaries/go-build.ts';
import { Daemon } from '../src/sandbox/control-plane/daemon.ts';
import { manifestsIn } from '../src/sandbox/manifests.ts';
import { machine } from './support/processes.ts';
import { meter, percentile, rounded, type Readings } from './support/result.ts';
import type { Stage } from './support/stage.ts';
import { secretName, workKinds, workNamespace, type WorkResource } from './support/workload.ts';

const peerModule = 'github.com/crossplane-contrib/provider-http';
const modules = join(import.meta.dirname, 'peer');
const appliers = 12;
const calmMs = 75_000;
const minuteMs = 60_000;
const samples = 5;
const readyWithinMs = 1_800_000;

/** One operator on the stage. */
interface Side {
  readonly name: string;
  readonly resource: WorkResource;
  readonly pid: () => number;
  readonly manifest: (name: string) => object;
  /** The patch that asks for another name in the service. */
  readonly rename: (name: string, to: string) => readonly object[];
  readonly start: () => Promise<void>;
  readonly kill: () => Promise<void>;
}

/** The rows of the table, by what each says. */
type Figures = Readonly<Record<string, string | number>>;

/** Plays one operator after the other, and prints what each took. */
export async function peer(stage: Stage): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'apphosting-peer-'));
  let daemon: Daemon | undefined;
  try {
    const program = await built(dir);
    await installPeer(stage);
    await stage.startOperator();
    const ours = await played(stage, oursOn(stage));
    await stage.stopOperator();
    daemon = new Daemon(await peerProgram(stage, dir, program));
    const theirs = await played(stage, peerOn(stage, daemon));
    console.log(tableOf({ 'this operator': ours, 'provider-http v1.0.14': theirs }));
    console.log(`${stage.options.count} contact points each, latency ${stage.options.latencyMs} ms; ${machine()}`);
  } finally {
    await daemon?.kill();
    await rm(dir, { recursive: true, force: true });
  }
}

async function built(dir: string): Promise<string> {
  const env = environmentWith(goSettings);
  const args = ['build', '-trimpath', '-ldflags', '-s -w', '-o', join(dir, 'provider'), 'tool'];
  await promisify(execFile)('go', args, { cwd: modules, env });
  return join(dir, 'provider');
}

async function installPeer(stage: Stage): Promise<void> {
  const env = environmentWith({ GOTOOLCHAIN: 'local', GOWORK: 'off' });
  const asked = ['list', '-m', '-f', '{{.Dir}}', peerModule];
  const { stdout } = await promisify(execFile)('go', asked, { cwd: modules, env });
  const cluster = clusterAt(stage.plane);
  try {
    const crds = await manifestsIn(join(stdout.trim(), 'package', 'crds'));
    for (const crd of crds) await cluster.apply(crd);
    await cluster.established(crds.map(({ metadata }) => metadata.name));
    await cluster.apply({
      apiVersion: 'http.m.crossplane.io/v1alpha2',
      kind: 'ClusterProviderConfig',
      metadata: { name: 'default' },
      spec: { credentials: { source: 'None' } },
    });
  } finally {
    await cluster.close();
  }
}

async function peerProgram(stage: Stage, dir: string, command: string) {
  const kubeconfig = join(dir, 'kubeconfig');
  // The audit log counts this user's requests, whoever comes as it.
  await writeFile(kubeconfig, stage.plane.kubeconfig('operator'), { mode: 0o600 });
  return {
    name: 'provider-http',
    command,
    args: [],
    env: environmentWith({ KUBECONFIG: kubeconfig }),
    logPath: join(dir, 'provider.log'),
    isUp: async () => true,
    upWithinMs: 30_000,
    graceMs: 10_000,
  };
}

function oursOn(stage: Stage): Side {
  return {
    name: 'ours',
    resource: workKinds.ContactPoint,
    pid: stage.operatorPid,
    manifest: (name) => ({
      apiVersion: `${group}/${version}`,
      kind: 'ContactPoint',
      metadata: { name, namespace: workNamespace },
      spec: { name, email: { addresses: ['on-call@example.com'] } },
    }),
    rename: (_name, to) => [{ op: 'replace', path: '/spec/name', value: to }],
    start: stage.startOperator,
    kill: stage.killOperator,
  };
}

function peerOn(stage: Stage, daemon: Daemon): Side {
  const body = (name: string) =>
    JSON.stringify({ accountId: 'acc_demo', name, type: 'email', config: { addresses: ['on-call@example.com'] } });
  // The newest answer is what is known of a contact point; the service wraps some, and not others.
  const point = '(.response.body.contactPoint // .response.body)';
  const one = `(.payload.baseUrl + "?contactPointId=" + ${point}.contactPointId)`;
  return {
    name: 'theirs',
    resource: { group: 'http.m.crossplane.io', version: 'v1alpha2', plural: 'requests' },
    pid: () => daemon.pid ?? 0,
    manifest: (name) => ({
      apiVersion: 'http.m.crossplane.io/v1alpha2',
      kind: 'Request',
      metadata: { name, namespace: workNamespace },
      spec: {
        forProvider: {
          headers: {
            'Content-Type': ['application/json'],
            Authorization: [`{{ ${secretName}:${workNamespace}:token }}`],
          },
          payload: { baseUrl: `${stage.serviceUrl}/api/public/v1/contact-point`, body: body(name) },
          mappings: [
            { action: 'CREATE', method: 'POST', url: '.payload.baseUrl', body: '.payload.body' },
            { action: 'OBSERVE', method: 'GET', url: one },
            {
              action: 'UPDATE',
              method: 'PATCH',
              url: '.payload.baseUrl',
              body: `{ contactPointId: ${point}.contactPointId, name: .payload.body.name }`,
            },
            { action: 'REMOVE', method: 'DELETE', url: one },
          ],
          expectedResponseCheck: {
            type: 'CUSTOM',
            logic: `if ${point}.name == .payload.body.name then true else false end`,
          },
        },
        providerConfigRef: { kind: 'ClusterProviderConfig', name: 'default' },
      },
    }),
    rename: (_name, to) => [{ op: 'replace', path: '/spec/forProvider/payload/body', value: body(to) }],
    start: () => daemon.start(),
    kill: () => daemon.kill(),
  };
}

async function played(stage: Stage, side: Side): Promise<Figures> {
  const { count, say } = stage.options;
  const on: Stage = { ...stage, operatorPid: side.pid };
  if (side.pid() === 0) await side.start();
  const madeBefore = await stage.service.commits('contactPoint.created');
  const counting = await meter(on);
  const readySeconds = await applied(stage, side);
  const until = await counting.stop();
  say(`${side.name}: ready after ${readySeconds.toFixed(1)} s`);
  const made = (await stage.service.commits('contactPoint.created')).slice(madeBefore.length);
  await sleep(calmMs);
  const resting = await meter(on);
  await sleep(minuteMs);
  const rest = await resting.stop();
  const changes = await changed(stage, side);
  const drifts = await drifted(stage, made.slice(10, 10 + samples));
  await side.kill();
  const starting = await meter(on);
  await side.start();
  await sleep(calmMs);
  const restart = await starting.stop();
  const requests = ({ kubernetes }: Readings) => kubernetes.reads + kubernetes.writes;
  return {
    'ready, seconds': rounded(readySeconds),
    'service calls each': rounded((until.service.reads + until.service.writes) / count),
    'Kubernetes requests each, until Ready': rounded(requests(until) / count),
    'objects made too many': made.length - count,
    'CPU each, ms': rounded((until.cpuSeconds * 1_000) / count),
    'peak memory, MiB': rounded(until.peakRssMiB),
    'a minute at rest: service calls': rest.service.reads + rest.service.writes,
    'a minute at rest: Kubernetes writes but the lease': rest.kubernetes.writes - rest.kubernetes.leaseWrites,
    'a minute at rest: CPU, % of a core': rounded((rest.cpuSeconds / rest.seconds) * 100),
    'one change to its call, ms': percentile(changes, 0.5),
    'changed in the service, put right after at most, seconds': rounded(Math.max(...drifts) / 1_000),
    'killed and started: service calls in 75 s': restart.service.reads + restart.service.writes,
    'killed and started: calls that change something': restart.service.writes,
    'killed and started: Kubernetes writes but the lease': restart.kubernetes.writes - restart.kubernetes.leaseWrites,
  };
}

const nameOf = (at: number) => `point-${at}`;

/** Applies all, and waits until the API server says Ready of each. */
async function applied(stage: Stage, { name, pid, resource, manifest }: Side): Promise<number> {
  const startedAt = performance.now();
  const waiting = Array.from({ length: stage.options.count }, (_, at) => nameOf(at)).values();
  const work = async () => {
    for (const point of waiting)
      await stage.api.createNamespacedCustomObject({ ...resource, namespace: workNamespace, body: manifest(point) });
  };
  await Promise.all(Array.from({ length: appliers }, work));
  while (performance.now() - startedAt < readyWithinMs) {
    // Its port for metrics is fixed, and may be taken.
    if (pid() === 0) throw new Error(`${name} ended by itself`);
    const ready = await readyOf(stage, resource);
    stage.options.debug?.(`${ready} ready`);
    if (ready >= stage.options.count) return (performance.now() - startedAt) / 1_000;
    await sleep(2_000);
  }
  throw new Error(`not all of ${resource.plural} became Ready`);
}

async function readyOf(stage: Stage, resource: WorkResource): Promise<number> {
  const { items } = (await stage.api.listNamespacedCustomObject({ ...resource, namespace: workNamespace })) as {
    items: readonly { status?: { conditions?: readonly { type: string; status: string }[] } }[];
  };
  return items.filter(({ status }) => status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'True'))
    .length;
}

const asJsonPatch = setHeaderOptions('Content-Type', PatchStrategy.JsonPatch);

/** Renames a few in Kubernetes; the milliseconds until the service is told. */
async function changed(stage: Stage, { resource, rename }: Side): Promise<readonly number[]> {
  const found: number[] = [];
  let seen = (await stage.service.requestsAfter(0)).at(-1)?.seq ?? 0;
  for (let at = 0; at < samples; at += 1) {
    const name = nameOf(at);
    const changedAt = Date.now();
    const body = rename(name, `${name}-renamed`);
    await stage.api.patchNamespacedCustomObject({ ...resource, namespace: workNamespace, name, body }, asJsonPatch);
    const call = await stage.service.changeAfter(seen, '/contact-point');
    seen = call.seq;
    found.push(call.arrivedAt - changedAt);
  }
  return found;
}

/** Somebody renames a few in the service; the milliseconds until they are put right. */
async function drifted(stage: Stage, ids: readonly string[]): Promise<readonly number[]> {
  const { service, options } = stage;
  const renamedAt = Date.now();
  for (const contactPointId of ids) {
    await service.call('PATCH', '/contact-point', { contactPointId, name: 'renamed' });
  }
  const end = performance.now() + (options.pollSeconds * 3 + 30) * 1_000;
  const found: number[] = [];
  for (const id of ids) {
    let corrected: number | undefined;
    while (corrected === undefined && performance.now() < end) {
      await sleep(500);
      corrected = (await service.changesOf(id, 'contactPoint.updated'))[1];
    }
    found.push((corrected ?? Number.NaN) - renamedAt);
  }
  return found;
}

function tableOf(sides: Readonly<Record<string, Figures>>): string {
  const names = Object.keys(sides);
  const [first = {}] = Object.values(sides);
  const row = (cells: readonly (string | number)[]) => `| ${cells.join(' | ')} |`;
  const rows = Object.keys(first).map((what) => row([what, ...names.map((name) => String(sides[name]?.[what]))]));
  return [row(['', ...names]), row(['---', ...names.map(() => '---')]), ...rows].join('\n');
}
