import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parseAllDocuments, stringify } from 'yaml';
import { environmentWith } from '../../../src/config.ts';
import { Daemon } from '../../../src/sandbox/control-plane/daemon.ts';
import { poll } from '../../../src/sandbox/poll.ts';
import { freePorts } from '../../../src/sandbox/control-plane/ports.ts';
import { temporaryFolder } from '../../../src/sandbox/data-folder.ts';
import type { Condition } from '../../../src/engine/kind/contract/step.ts';
import type { Api } from '../../scenarios/support/kubernetes.ts';
import type { SharedKubernetes } from '../../scenarios/support/shared-control-plane.ts';
import { define, moduleOf } from './modules.ts';

const root = join(import.meta.dirname, '..', '..', '..');
const home = 'flux-system';
const sources = `/apis/source.toolkit.fluxcd.io/v1/namespaces/${home}/gitrepositories`;
const kustomizations = `/apis/kustomize.toolkit.fluxcd.io/v1/namespaces/${home}/kustomizations`;

/** A Kustomization as far as the trials look at it. */
export interface Kustomization {
  readonly metadata: { readonly generation: number };
  readonly status?: {
    readonly conditions?: readonly Condition[];
    readonly lastAppliedRevision?: string;
    readonly lastHandledReconcileAt?: string;
  };
}

/** Serves what source-controller would: an archive for each name, and the GitRepository whose status tells of it. */
class Sources {
  readonly #api: Api;
  readonly #archives = new Map<string, Buffer>();
  readonly #server = createServer(({ url = '' }, response) => {
    const archive = this.#archives.get(url);
    response.writeHead(archive === undefined ? 404 : 200).end(archive);
  });
  #count = 0;

  constructor(api: Api) {
    this.#api = api;
  }

  async start(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  /** Makes these manifests the newest revision of a source. */
  async commit(name: string, manifests: readonly object[]): Promise<void> {
    const archive = await archived(manifests);
    const revision = `main@sha1:${createHash('sha1')
      .update(`${(this.#count += 1)}`)
      .digest('hex')}`;
    const address = this.#server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const path = `/${name}/${this.#count}.tar.gz`;
    this.#archives.set(path, archive);
    const spec = { interval: '1h', url: 'https://git.example.com/team-a/hosting' };
    const object = { apiVersion: 'source.toolkit.fluxcd.io/v1', kind: 'GitRepository', metadata: { name }, spec };
    const { body } = await this.#api.patch(
      `${sources}/${name}?fieldManager=trials&force=true`,
      object,
      'application/apply-patch+yaml',
    );
    const { generation } = (body as { metadata: { generation: number } }).metadata;
    const digest = `sha256:${createHash('sha256').update(archive).digest('hex')}`;
    const artifact = {
      digest,
      lastUpdateTime: new Date().toISOString(),
      path,
      revision,
      url: `http://127.0.0.1:${port}${path}`,
    };
    const ready = {
      type: 'Ready',
      status: 'True',
      reason: 'Succeeded',
      message: revision,
      lastTransitionTime: artifact.lastUpdateTime,
    };
    const status = { observedGeneration: generation, artifact, conditions: [ready] };
    await this.#api.patch(`${sources}/${name}/status`, { status });
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

/** A folder with a kustomization.yaml, as an archive. */
async function archived(manifests: readonly object[]): Promise<Buffer> {
  const dir = await mkdtemp(join(tmpdir(), 'gitops-'));
  await mkdir(join(dir, 'hosting'));
  await writeFile(join(dir, 'hosting', 'all.yaml'), manifests.map((one) => stringify(one)).join('---\n'));
  await writeFile(join(dir, 'hosting', 'kustomization.yaml'), stringify({ resources: ['all.yaml'] }));
  const { stdout } = await promisify(execFile)('tar', ['-czf', '-', '-C', dir, 'hosting'], { encoding: 'buffer' });
  await rm(dir, { recursive: true });
  return stdout;
}

/** The real kustomize-controller, with a stand-in of ours for source-controller. */
export class Flux {
  readonly #api: Api;
  readonly #sources: Sources;
  readonly #controller: Daemon;
  readonly #release: () => Promise<void>;

  private constructor(api: Api, served: Sources, controller: Daemon, release: () => Promise<void>) {
    this.#api = api;
    this.#sources = served;
    this.#controller = controller;
    this.#release = release;
  }

  static async start(plane: SharedKubernetes, api: Api, programs: string): Promise<Flux> {
    const { dir, release } = await temporaryFolder('tests');
    const module = await moduleOf('flux', 'github.com/fluxcd/kustomize-controller');
    const crd = join(module, 'config', 'crd', 'bases', 'kustomize.toolkit.fluxcd.io_kustomizations.yaml');
    for (const kind of ['GitRepository', 'OCIRepository', 'Bucket', 'ExternalArtifact']) {
      await api.post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', sourceDefinition(kind));
    }
    await define(plane, [crd]);
    await api.post('/api/v1/namespaces', { metadata: { name: home } });
    const served = new Sources(api);
    await served.start();
    const [metrics = 0, health = 0] = await freePorts(2);
    const logPath = join(dir, 'kustomize-controller.log');
    const controller = new Daemon({
      name: 'kustomize-controller',
      command: join(programs, 'kustomize-controller'),
      args: [
        `--metrics-addr=127.0.0.1:${metrics}`,
        `--health-addr=127.0.0.1:${health}`,
        '--watch-all-namespaces',
        '--enable-leader-election=false',
        '--concurrent=20',
        '--requeue-dependency=2s',
      ],
      env: environmentWith({ KUBECONFIG: plane.kubeconfigPath, RUNTIME_NAMESPACE: home, TMPDIR: dir }),
      logPath,
      isUp: async () => (await readFile(logPath, 'utf8')).includes('Starting workers'),
      upWithinMs: 180_000,
      graceMs: 10_000,
    });
    await controller.start();
    return new Flux(api, served, controller, release);
  }

  /** Makes the Kustomization of `deploy/flux/team.yaml` for a team, with what it wants. */
  async kustomization(
    name: string,
    targetNamespace: string,
    manifests: readonly object[],
    change: object = {},
  ): Promise<void> {
    await this.commit(name, manifests);
    const text = await readFile(join(root, 'deploy', 'flux', 'team.yaml'), 'utf8');
    const shipped = parseAllDocuments(text).map((document) => document.toJS() as { kind: string; spec: object });
    const found = shipped.find(({ kind }) => kind === 'Kustomization');
    const { dependsOn: _operator, ...spec } = { dependsOn: undefined, ...found?.spec };
    const own = {
      ...spec,
      targetNamespace,
      retryInterval: '5s',
      sourceRef: { kind: 'GitRepository', name },
      ...change,
    };
    const { status, body } = await this.#api.post(kustomizations, { ...found, metadata: { name }, spec: own });
    if (status !== 201) throw new Error(`Kustomization ${name}: ${JSON.stringify(body)}`);
  }

  commit(name: string, manifests: readonly object[]): Promise<void> {
    return this.#sources.commit(name, manifests);
  }

  async get(name: string): Promise<Kustomization | undefined> {
    const { status, body } = await this.#api.get(`${kustomizations}/${name}`);
    return status === 200 ? (body as Kustomization) : undefined;
  }

  patch(name: string, change: object): Promise<unknown> {
    return this.#api.patch(`${kustomizations}/${name}`, change);
  }

  delete(name: string): Promise<unknown> {
    return this.#api.delete(`${kustomizations}/${name}`);
  }

  /** Has it reconcile now, as `flux reconcile kustomization` does, and waits until it has. */
  async reconcile(name: string): Promise<void> {
    const at = new Date().toISOString();
    await this.patch(name, { metadata: { annotations: { 'reconcile.fluxcd.io/requestedAt': at } } });
    await this.until(name, 'it was reconciled', ({ status }) => status?.lastHandledReconcileAt === at);
  }

  async until(name: string, what: string, isSo: (one: Kustomization) => boolean, deadlineMs = 240_000): Promise<void> {
    let last: Kustomization | undefined;
    const look = async () => {
      last = await this.get(name);
      return last !== undefined && isSo(last) ? true : undefined;
    };
    const came = await poll(look, { everyMs: 500, deadlineMs });
    if (came === undefined) throw new Error(`${name}: not so after ${deadlineMs / 1_000} s: ${what}\n${readyOf(last)}`);
  }

  async stop(): Promise<void> {
    await this.#controller.stop();
    await this.#sources.stop();
    await this.#release();
  }
}

/** What a Kustomization says, such as `False/HealthCheckFailed: …`. */
export function readyOf(one: Kustomization | undefined): string {
  const ready = one?.status?.conditions?.find(({ type }) => type === 'Ready');
  return ready === undefined ? 'nothing' : `${ready.status}/${ready.reason}: ${ready.message}`;
}

/** Enough of a definition of source-controller's for what reads it. */
function sourceDefinition(kind: string): object {
  const plural = kind.endsWith('y') ? `${kind.toLowerCase().slice(0, -1)}ies` : `${kind.toLowerCase()}s`;
  const anything = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.source.toolkit.fluxcd.io` },
    spec: {
      group: 'source.toolkit.fluxcd.io',
      scope: 'Namespaced',
      names: { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase() },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: { openAPIV3Schema: anything },
        },
      ],
    },
  };
}
