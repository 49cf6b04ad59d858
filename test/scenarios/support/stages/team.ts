import type { Condition } from '../../../../src/engine/kind/contract/step.ts';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { request } from 'undici';
import { parseAllDocuments, stringify } from 'yaml';
import { poll } from '../../../../src/sandbox/poll.ts';
import { kinds } from '../../../../src/kinds/index.ts';
import { type Listening, startSimulator } from '../../../../src/simulator/start.ts';
import { waiting, type Answer, type Api } from '../kubernetes.ts';

const root = join(import.meta.dirname, '..', '..', '..', '..');
const group = '/apis/apphosting.dev/v1alpha1';

/** An object as a team writes it. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> };
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly stringData?: Readonly<Record<string, string>>;
}

/** An object as the cluster has it. */
export interface Held extends Manifest {
  readonly metadata: Manifest['metadata'] & { readonly generation: number; readonly resourceVersion: string };
  readonly status?: Readonly<Record<string, unknown>> & { readonly conditions?: readonly Condition[] };
}

/** A namespace with a hosting service of its own, so that manifests of the repository can be applied as they are. */
export class Team {
  readonly namespace: string;
  readonly simulator: Listening;
  readonly #api: Api;

  private constructor(api: Api, namespace: string, simulator: Listening) {
    this.#api = api;
    this.namespace = namespace;
    this.simulator = simulator;
  }

  static async arrive(api: Api): Promise<Team> {
    const namespace = `team-${randomUUID().slice(0, 8)}`;
    await api.post('/api/v1/namespaces', { metadata: { name: namespace } });
    return new Team(api, namespace, await startSimulator());
  }

  /** The manifests of folders of the repository; only the address of the service, and how often it is read, are the team's. */
  async manifests(...folders: readonly string[]): Promise<readonly Manifest[]> {
    const files = await Promise.all(
      folders.map(async (folder) => {
        const names = (await readdir(join(root, folder))).filter((name) => name.endsWith('.yaml')).toSorted();
        return Promise.all(names.map((name) => readFile(join(root, folder, name), 'utf8')));
      }),
    );
    const all = files.flat().flatMap((text) => parseAllDocuments(text).map((document) => document.toJS() as Manifest));
    return all.map((manifest) => this.#adapted(manifest));
  }

  #adapted(manifest: Manifest): Manifest {
    const { kind, spec, stringData } = manifest;
    if (stringData?.['baseUrl'] !== undefined)
      return { ...manifest, stringData: { ...stringData, baseUrl: this.simulator.url, token: 'demo-admin' } };
    if (kind !== 'HostingAccount') return manifest;
    return { ...manifest, spec: { ...spec, budget: { requestsPerSecond: 50, concurrency: 8 } } };
  }

  /** Writes manifests into one file of a folder of their own. */
  async folder(
    manifests: readonly Manifest[],
  ): Promise<{ readonly path: string; readonly remove: () => Promise<void> }> {
    const path = await mkdtemp(join(tmpdir(), 'gitops-'));
    await writeFile(join(path, 'all.yaml'), manifests.map((manifest) => stringify(manifest)).join('---\n'));
    return { path, remove: () => rm(path, { recursive: true }) };
  }

  /** Applies an object as GitOps tools do, on the server. */
  async apply(manifest: Manifest): Promise<void> {
    const path = `${this.path(manifest)}?fieldManager=gitops&force=true`;
    const { status, body } = await this.#api.patch(path, manifest, 'application/apply-patch+yaml');
    if (status >= 300) throw new Error(`${manifest.kind} ${manifest.metadata.name}: ${JSON.stringify(body)}`);
  }

  async get(manifest: Pick<Manifest, 'kind' | 'metadata'>): Promise<Held | undefined> {
    const { status, body } = await this.#api.get(this.path(manifest));
    return status === 200 ? (body as Held) : undefined;
  }

  delete(manifest: Pick<Manifest, 'kind' | 'metadata'>): Promise<Answer> {
    return this.#api.delete(this.path(manifest));
  }

  annotate(manifest: Pick<Manifest, 'kind' | 'metadata'>, name: string, value: string): Promise<Answer> {
    return this.#api.patch(this.path(manifest), { metadata: { annotations: { [name]: value } } });
  }

  /** A condition as `status/reason`, of the newest generation only. */
  async says(manifest: Pick<Manifest, 'kind' | 'metadata'>, type = 'Ready'): Promise<string> {
    const held = await this.get(manifest);
    const condition = held?.status?.conditions?.find((one) => one.type === type);
    if (condition === undefined || condition.observedGeneration !== held?.metadata.generation) return 'nothing';
    return `${condition.status}/${condition.reason}`;
  }

  /** Waits until a condition of each object begins with this; meanwhile does what somebody else would. */
  async until(
    wanted: string,
    objects: readonly Pick<Manifest, 'kind' | 'metadata'>[],
    meanwhile: () => Promise<unknown> = async () => undefined,
    type = 'Ready',
  ): Promise<void> {
    let last: readonly string[] = [];
    const look = async () => {
      const said = await Promise.all(objects.map((one) => this.says(one, type)));
      last = objects.flatMap(({ kind, metadata }, at) =>
        said[at]?.startsWith(wanted) === true ? [] : [`${kind} ${metadata.name} says ${said[at] ?? ''}`],
      );
      if (last.length > 0) await meanwhile();
      return last.length === 0 ? true : undefined;
    };
    const came = await poll(look, waiting);
    if (came === undefined) throw new Error(`${type} should be ${wanted}: ${last.join(', ')}`);
  }

  /** Everything of ours that is in the namespace. */
  async left(): Promise<readonly Held[]> {
    const plurals = kinds.filter(({ scope }) => scope === 'Namespaced').map(({ plural }) => plural);
    const path = (plural: string) => `${group}/namespaces/${this.namespace}/${plural}`;
    const lists = await Promise.all(plurals.map((plural) => this.#api.get(path(plural))));
    return lists.flatMap(({ body }) => (body as { items: readonly Held[] }).items);
  }

  /** Calls the control surface of its service. */
  async control(method: 'GET' | 'POST' | 'PATCH', path: string, body?: object): Promise<unknown> {
    const answer = await request(`${this.simulator.url}/_sim${path}`, {
      method,
      signal: AbortSignal.timeout(60_000),
      headers: { 'content-type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
    });
    return answer.body.json();
  }

  /** Requests that changed the service or tried to, as `POST /path`. */
  async writes(): Promise<readonly string[]> {
    const { items } = (await this.control('GET', '/requests')) as {
      items: readonly { readonly method: string; readonly path: string }[];
    };
    return items.filter(({ method }) => method !== 'GET').map(({ method, path }) => `${method} ${path}`);
  }

  /** What its service has done, such as `alert.deleted`. */
  async commits(): Promise<readonly string[]> {
    const { items } = (await this.control('GET', '/ledger')) as { items: readonly { readonly kind: string }[] };
    return items.map(({ kind }) => kind);
  }

  /** What does not survive the test: whatever still stands is let go, and the namespace with it. */
  async leave(): Promise<void> {
    for (const object of await this.left()) await this.annotate(object, 'apphosting.dev/on-delete', 'Retain');
    await this.#api.delete(`/api/v1/namespaces/${this.namespace}`);
    await poll(async () => ((await this.left()).length === 0 ? true : undefined), waiting);
    await this.simulator.close();
  }

  path({ kind, metadata: { name } }: Pick<Manifest, 'kind' | 'metadata'>): string {
    if (kind === 'Secret') return `/api/v1/namespaces/${this.namespace}/secrets/${name}`;
    const { plural, scope } = kinds.find((one) => one.kind === kind) ?? { plural: kind, scope: 'Namespaced' };
    return `${group}${scope === 'Cluster' ? '' : `/namespaces/${this.namespace}`}/${plural}/${name}`;
  }
}
