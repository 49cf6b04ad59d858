import { Agent, request } from 'undici';
import { CannotStart } from './control-plane/cannot-start.ts';
import { poll } from './control-plane/deadline.ts';
import type { Manifest } from './manifests.ts';

const answerMs = 10_000;
const fieldManager = 'apphosting-sandbox';

/** How to reach an API server. */
export interface Access {
  readonly url: string;
  readonly ca: string;
  readonly adminToken: string;
}

/** A kind that the API server serves. */
export interface Served {
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
}

/** The little that a sandbox needs of the Kubernetes API. */
export interface Cluster {
  /** Server-side apply. Throws `CannotStart` with the API server's words when it refuses. */
  readonly apply: (manifest: Manifest) => Promise<void>;
  /** The objects of a kind in all namespaces. */
  readonly list: (groupVersion: string, plural: string) => Promise<readonly unknown[]>;
  /** What a group serves; nothing when there is no such group. */
  readonly served: (groupVersion: string) => Promise<readonly Served[]>;
  /** Waits until the API server serves every one of these CustomResourceDefinitions. */
  readonly established: (names: readonly string[]) => Promise<void>;
  readonly close: () => Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly body: Fields;
}

/** Access to a cluster as its administrator. */
export function clusterAt({ url, ca, adminToken }: Access): Cluster {
  const agent = new Agent({ connect: { ca }, connections: 4 });

  async function ask(method: 'GET' | 'PATCH', path: string, content?: Manifest): Promise<Answer> {
    const { statusCode, body } = await request(`${url}${path}`, {
      method,
      dispatcher: agent,
      signal: AbortSignal.timeout(answerMs),
      headers: {
        authorization: `Bearer ${adminToken}`,
        accept: 'application/json',
        ...(content === undefined ? {} : { 'content-type': 'application/apply-patch+yaml' }),
      },
      body: content === undefined ? null : JSON.stringify(content),
    });
    return { status: statusCode, body: fieldsOf(await body.text()) };
  }

  async function served(groupVersion: string): Promise<readonly Served[]> {
    const { status, body } = await ask('GET', groupPath(groupVersion));
    return status === 200 ? itemsOf(body, 'resources').flatMap(asServed) : [];
  }

  async function apply(manifest: Manifest): Promise<void> {
    const { apiVersion, kind, metadata } = manifest;
    const what = `${kind} ${metadata.name}`;
    // Right after its definition is established a kind may not be served yet.
    const known = async () => (await served(apiVersion)).find((candidate) => candidate.kind === kind);
    const found = await poll(known, { everyMs: 100, deadlineMs: 5000 });
    if (found === undefined) throw new CannotStart(`${what}: the cluster serves no ${kind} in ${apiVersion}`);
    const namespace = found.namespaced ? `/namespaces/${metadata.namespace ?? 'default'}` : '';
    const path = `${groupPath(apiVersion)}${namespace}/${found.plural}/${metadata.name}`;
    const { status, body } = await ask('PATCH', `${path}?fieldManager=${fieldManager}&force=true`, manifest);
    if (status >= 300) throw new CannotStart(`${what} is refused: ${textOf(body['message'])}`);
  }

  async function established(names: readonly string[]): Promise<void> {
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    const all = async () => {
      const ready = itemsOf((await ask('GET', path)).body, 'items')
        .filter(isEstablished)
        .map(nameOf);
      return names.every((name) => ready.includes(name)) ? true : undefined;
    };
    if ((await poll(all, { everyMs: 100, deadlineMs: 30_000 })) === undefined) {
      throw new CannotStart('the API server does not serve every CustomResourceDefinition after 30 s');
    }
  }

  async function list(groupVersion: string, plural: string): Promise<readonly unknown[]> {
    const { status, body } = await ask('GET', `${groupPath(groupVersion)}/${plural}`);
    return status === 200 ? itemsOf(body, 'items') : [];
  }

  return { apply, list, served, established, close: () => agent.destroy() };
}

/** What is unknown altogether is answered with a line of text. */
function fieldsOf(text: string): Fields {
  if (!text.startsWith('{')) return { message: text.trim() };
  const value: unknown = JSON.parse(text);
  return isFields(value) ? value : {};
}

function groupPath(groupVersion: string): string {
  return groupVersion.includes('/') ? `/apis/${groupVersion}` : `/api/${groupVersion}`;
}

type Fields = Readonly<Record<string, unknown>>;

/** A field of something whose shape is the API server's business. */
export function field(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((at, name) => (isFields(at) ? at[name] : undefined), value);
}

/** A text, or the empty one. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The list in a field, or an empty one. */
export function itemsOf(value: unknown, ...path: readonly string[]): readonly unknown[] {
  const items = field(value, ...path);
  return Array.isArray(items) ? items : [];
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null;
}

function asServed(resource: unknown): readonly Served[] {
  const plural = textOf(field(resource, 'name'));
  if (plural === '' || plural.includes('/')) return [];
  return [{ kind: textOf(field(resource, 'kind')), plural, namespaced: field(resource, 'namespaced') === true }];
}

function isEstablished(definition: unknown): boolean {
  return itemsOf(definition, 'status', 'conditions').some(
    (condition) => field(condition, 'type') === 'Established' && field(condition, 'status') === 'True',
  );
}

function nameOf(object: unknown): string {
  return textOf(field(object, 'metadata', 'name'));
}
