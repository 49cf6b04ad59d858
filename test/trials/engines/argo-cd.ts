import { execFile } from 'node:child_process';
import { readdir, readFile, writeFile, mkdir } from 'node:fs/promises';
import { connect } from 'node:net';
import { delimiter, join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { environmentWith } from '../../../src/config.ts';
import { Daemon, type Program } from '../../../src/sandbox/control-plane/daemon.ts';
import { poll } from '../../../src/sandbox/poll.ts';
import { freePorts } from '../../../src/sandbox/control-plane/ports.ts';
import { temporaryFolder } from '../../../src/sandbox/data-folder.ts';
import { kubectl, type Api } from '../../scenarios/support/kubernetes.ts';
import type { SharedKubernetes } from '../../scenarios/support/shared-control-plane.ts';
import type { GitFolder } from './git-folder.ts';
import { define, moduleOf } from './modules.ts';

const refreshWanted = 'argocd.argoproj.io/refresh';
const root = join(import.meta.dirname, '..', '..', '..');
const applications = '/apis/argoproj.io/v1alpha1/namespaces/argocd/applications';

/** A resource as Argo CD sees it. */
interface Managed {
  readonly kind: string;
  readonly name: string;
  readonly status?: string;
  readonly requiresPruning?: boolean;
  readonly health?: { readonly status: string; readonly message?: string };
}

/** An Application as far as the trials look at it. */
export interface Application {
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly status?: {
    readonly sync?: { readonly status: string; readonly revision?: string };
    readonly health?: { readonly status: string };
    readonly resources?: readonly Managed[];
    readonly operationState?: {
      readonly phase: string;
      readonly message?: string;
      readonly startedAt: string;
      readonly syncResult?: { readonly revision: string };
    };
  };
}

/** Where the programs of Argo CD are. */
export interface ArgoPrograms {
  readonly argocd: string;
  /** The folder that has `kustomize`. */
  readonly kustomize: string;
  readonly redis: string;
}

/** A running Argo CD: its controller, its repository server, its API and Redis. */
export class ArgoCd {
  readonly #api: Api;
  readonly #daemons: readonly Daemon[];
  readonly #command: (...args: readonly string[]) => Promise<string>;
  readonly #release: () => Promise<void>;

  private constructor(
    api: Api,
    daemons: readonly Daemon[],
    command: (...args: readonly string[]) => Promise<string>,
    release: () => Promise<void>,
  ) {
    this.#api = api;
    this.#daemons = daemons;
    this.#command = command;
    this.#release = release;
  }

  /** Starts it against a cluster, with our `argocd-cm` merged in. */
  static async start(plane: SharedKubernetes, api: Api, programs: ArgoPrograms): Promise<ArgoCd> {
    const { dir, release } = await temporaryFolder('tests');
    await install(plane, api);
    const [redis = 0, repo = 0, repoMetrics = 0, metrics = 0, port = 0, portMetrics = 0] = await freePorts(6);
    const kubeconfig = join(dir, 'kubeconfig');
    await writeFile(kubeconfig, await readFile(plane.kubeconfigPath, 'utf8'), { mode: 0o600 });
    const folder = (name: string) => join(dir, name);
    await Promise.all(
      ['tls', 'ssh', 'gpg', 'gnupg', 'plugins', 'tmp', 'home', 'app', 'bin'].map((name) => mkdir(folder(name))),
    );
    // A script of Argo CD's own, which says whether a commit is signed: here none is, and nobody asks for it.
    await writeFile(join(folder('bin'), 'git-verify-wrapper.sh'), '#!/bin/sh\n', { mode: 0o755 });
    const environment = environmentWith({
      ARGOCD_FAKE_IN_CLUSTER: 'true',
      ARGOCD_GPG_ENABLED: 'false',
      ARGOCD_TLS_DATA_PATH: folder('tls'),
      ARGOCD_SSH_DATA_PATH: folder('ssh'),
      ARGOCD_GPG_DATA_PATH: folder('gpg'),
      ARGOCD_GNUPGHOME: folder('gnupg'),
      ARGOCD_PLUGINSOCKFILEPATH: folder('plugins'),
      KUBECONFIG: kubeconfig,
      HOME: folder('home'),
      TMPDIR: folder('tmp'),
      PATH: [folder('bin'), programs.kustomize, process.env['PATH']].join(delimiter),
    });
    const redisAt = ['--redis', `127.0.0.1:${redis}`];
    const repoAt = ['--repo-server', `127.0.0.1:${repo}`];
    const inNamespace = ['--kubeconfig', kubeconfig, '--namespace', 'argocd'];
    const quickly = ['--app-resync', '30', '--app-resync-jitter', '0', '--self-heal-backoff-timeout-seconds', '1'];
    const part = (name: string, args: readonly string[], isUp: () => Promise<boolean>): Program => ({
      name,
      command: join(programs.argocd, 'cmd'),
      args,
      env: { ...environment, ARGOCD_BINARY_NAME: name },
      logPath: join(dir, `${name}.log`),
      isUp,
      upWithinMs: 180_000,
      graceMs: 5_000,
    });
    const daemons = [
      {
        // The title would be written over the environment, by which the tests know what they have started.
        ...part(
          'redis',
          ['--port', String(redis), '--bind', '127.0.0.1', '--save', '', '--dir', dir, '--set-proc-title', 'no'],
          () => listens(redis),
        ),
        command: join(programs.redis, 'redis-server'),
      },
      part(
        'argocd-repo-server',
        [
          '--port',
          String(repo),
          '--address',
          '127.0.0.1',
          '--metrics-port',
          String(repoMetrics),
          '--metrics-address',
          '127.0.0.1',
          ...redisAt,
        ],
        () => listens(repo),
      ),
      part(
        'argocd-application-controller',
        [
          '--metrics-port',
          String(metrics),
          '--persist-resource-health',
          ...quickly,
          ...redisAt,
          ...repoAt,
          ...inNamespace,
        ],
        () => listens(metrics),
      ),
      part(
        'argocd-server',
        [
          '--port',
          String(port),
          '--address',
          '127.0.0.1',
          '--metrics-port',
          String(portMetrics),
          '--disable-auth',
          '--insecure',
          '--staticassets',
          folder('app'),
          ...redisAt,
          ...repoAt,
          ...inNamespace,
        ],
        () => listens(port),
      ),
    ].map((program) => new Daemon(program));
    for (const daemon of daemons) await daemon.start();
    const at = ['--server', `127.0.0.1:${port}`, '--plaintext', '--config', join(dir, 'argocd-config')];
    const env = { ...environment, ARGOCD_BINARY_NAME: 'argocd' };
    const command = async (...args: readonly string[]) => {
      const options = { env, timeout: 120_000, cwd: dir };
      const { stdout } = await promisify(execFile)(join(programs.argocd, 'cmd'), [...args, ...at], options);
      return stdout;
    };
    return new ArgoCd(api, daemons, command, release);
  }

  /** Runs `argocd ARGS…` and returns what it printed. */
  command(...args: readonly string[]): Promise<string> {
    return this.#command(...args);
  }

  /** Makes the Application of `deploy/argocd/team.yaml` for a team, changed as a trial wants it. */
  async application(
    name: string,
    namespace: string,
    { url }: GitFolder,
    change: (application: Shipped) => Shipped = (as) => as,
  ): Promise<void> {
    const text = await readFile(join(root, 'deploy', 'argocd', 'team.yaml'), 'utf8');
    const shipped = parse(text.replaceAll('namespace: team-a', `namespace: ${namespace}`)) as Shipped;
    const source = { ...shipped.spec.source, repoURL: url };
    const own = { ...shipped, metadata: { ...shipped.metadata, name }, spec: { ...shipped.spec, source } };
    const { status, body } = await this.#api.post(applications, change(own));
    if (status !== 201) throw new Error(`Application ${name}: ${JSON.stringify(body)}`);
  }

  async get(name: string): Promise<Application | undefined> {
    const { status, body } = await this.#api.get(`${applications}/${name}`);
    return status === 200 ? (body as Application) : undefined;
  }

  /** Has it look at Git and at the cluster now. */
  async refresh(name: string): Promise<void> {
    await this.#api.patch(`${applications}/${name}`, {
      metadata: { annotations: { [refreshWanted]: 'normal' } },
    });
  }

  /** Has it look at Git and at the cluster so many times, one after the other; returns each state that it was seen in meanwhile. */
  async looks(times: number, name: string): Promise<readonly Application[]> {
    const seen: Application[] = [];
    const hasLooked = async () => {
      const application = await this.get(name);
      if (application === undefined) return undefined;
      seen.push(application);
      // It takes the annotation away when it has looked.
      return application.metadata.annotations?.[refreshWanted] === undefined ? true : undefined;
    };
    for (let time = 1; time <= times; time += 1) {
      await this.refresh(name);
      const came = await poll(hasLooked, { everyMs: 200, deadlineMs: 240_000 });
      if (came === undefined) throw new Error(`${name}: it has not looked a ${time}. time\n${inWords(seen.at(-1))}`);
    }
    return seen;
  }

  /** Has it begin a sync with these options, as somebody who presses the button. */
  async sync(name: string, sync: object): Promise<void> {
    await this.#api.patch(`${applications}/${name}`, { operation: { initiatedBy: { username: 'trial' }, sync } });
  }

  delete(name: string): Promise<unknown> {
    return this.#api.delete(`${applications}/${name}`);
  }

  /** Waits until an Application is so; `refresh` while it waits, as a webhook would. */
  async until(
    name: string,
    what: string,
    isSo: (application: Application) => boolean,
    deadlineMs = 240_000,
  ): Promise<void> {
    let last: Application | undefined;
    const look = async () => {
      last = await this.get(name);
      if (last !== undefined && isSo(last)) return true;
      await this.refresh(name);
      return undefined;
    };
    const came = await poll(look, { everyMs: 1_000, deadlineMs });
    if (came === undefined) throw new Error(`${name}: not so after ${deadlineMs / 1_000} s: ${what}\n${inWords(last)}`);
  }

  async stop(): Promise<void> {
    for (const daemon of this.#daemons.toReversed()) await daemon.stop();
    await this.#release();
  }
}

/** The Application that we ship, as far as a trial changes it. */
export interface Shipped {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly source: Readonly<Record<string, unknown>>;
    readonly syncPolicy: { readonly automated?: object; readonly syncOptions: readonly string[] };
  };
}

/** An Application in short, for whoever reads why a trial failed. */
export function inWords(application: Application | undefined): string {
  const { sync, health, operationState, resources = [] } = application?.status ?? {};
  const each = resources.map(
    (one) => `  ${one.kind} ${one.name}: ${one.status} ${one.health?.status} ${one.health?.message ?? ''}`,
  );
  const operation = `${operationState?.phase}: ${operationState?.message}`;
  return [`${sync?.status}, ${health?.status}; ${operation}`, ...each].join('\n');
}

/** Everything is as Git says, and healthy, and no sync is under way. */
export function isDone({ status }: Application): boolean {
  const { sync, health, operationState } = status ?? {};
  return sync?.status === 'Synced' && health?.status === 'Healthy' && operationState?.phase === 'Succeeded';
}

async function install(plane: SharedKubernetes, api: Api): Promise<void> {
  const crds = join(await moduleOf('argocd', 'github.com/argoproj/argo-cd/v3'), 'manifests', 'crds');
  const names = (await readdir(crds)).filter((name) => name.endsWith('-crd.yaml'));
  await define(
    plane,
    names.map((name) => join(crds, name)),
  );
  await api.post('/api/v1/namespaces', { metadata: { name: 'argocd' } });
  const labels = { 'app.kubernetes.io/part-of': 'argocd' };
  const maps = [
    'argocd-cm',
    'argocd-rbac-cm',
    'argocd-tls-certs-cm',
    'argocd-ssh-known-hosts-cm',
    'argocd-gpg-keys-cm',
    'argocd-cmd-params-cm',
  ];
  for (const name of maps) await api.post('/api/v1/namespaces/argocd/configmaps', { metadata: { name, labels } });
  await api.post('/api/v1/namespaces/argocd/secrets', { metadata: { name: 'argocd-secret', labels } });
  const project = {
    sourceRepos: ['*'],
    destinations: [{ server: '*', namespace: '*' }],
    clusterResourceWhitelist: [{ group: '*', kind: '*' }],
  };
  await api.post('/apis/argoproj.io/v1alpha1/namespaces/argocd/appprojects', {
    apiVersion: 'argoproj.io/v1alpha1',
    kind: 'AppProject',
    metadata: { name: 'default' },
    spec: project,
  });
  const merge = ['--type', 'merge', '--patch-file', join(root, 'deploy', 'argocd', 'argocd-cm.yaml')];
  await kubectl(plane, '-n', 'argocd', 'patch', 'configmap', 'argocd-cm', ...merge);
}

function listens(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(port, '127.0.0.1');
  socket.once('connect', () => resolve(true));
  socket.once('error', () => resolve(false));
  return promise.finally(() => socket.destroy());
}
