import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { promisify } from 'node:util';
import {
  CoreV1Api,
  CustomObjectsApi,
  EventsV1Api,
  IsomorphicFetchHttpLibrary,
  RequestContext,
  type HttpMethod,
} from '@kubernetes/client-node';
import { inject, onTestFinished } from 'vitest';
import { ConnectedConfig } from '../../../src/kube/client/api-classes.ts';
import { isRecord } from '../../../src/base/json.ts';
import { poll, type PollOptions } from '../../../src/sandbox/poll.ts';
import { startBreakablePlane } from '../../support/breakable-plane.ts';
import type { BreakablePlane, BreakableOptions } from '../../support/breakable-plane.ts';
import { temporaryFolder } from '../../../src/sandbox/data-folder.ts';
import type { SharedKubernetes } from './shared-control-plane.ts';

/** The control plane that the scenarios of this worker share. */
export function sharedKubernetes(): SharedKubernetes {
  const { planes } = inject('prepared');
  const own = planes[Number(process.env['VITEST_POOL_ID']) - 1];
  if (own === undefined) throw new Error(`there is no control plane for worker ${process.env['VITEST_POOL_ID']}`);
  return own;
}

/** A control plane of its own, in a folder of its own. */
export interface OwnPlane extends BreakablePlane {
  readonly dir: string;
}

/** A control plane with our definitions in it that somebody may break, and ends. */
export async function definedPlane(options: Partial<BreakableOptions> = {}): Promise<OwnPlane> {
  return barePlane({ etcdFrom: inject('prepared').etcd, ...options });
}

/** A control plane with nothing in it that somebody ends. */
export async function barePlane(options: Partial<BreakableOptions> = {}): Promise<OwnPlane> {
  const { dir, release } = await temporaryFolder('tests');
  const { binaries } = sharedKubernetes();
  const plane = await startBreakablePlane({ dir, binaries, say: () => {}, ...options });
  let ending: Promise<void> | undefined;
  const end = async () => {
    await plane.stop();
    await release();
  };
  return { ...plane, dir, stop: () => (ending ??= end()) };
}

/** What the API server answered. */
export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

/**
 * An API server as client-node sees it, as its administrator or with another token: its classes, and calls of any path for what
 * the classes hide (the status of a refusal, a dry run, the answer as it stands).
 */
export interface Api {
  readonly core: CoreV1Api;
  readonly custom: CustomObjectsApi;
  readonly happened: EventsV1Api;
  readonly get: (path: string) => Promise<Answer>;
  readonly post: (path: string, body: unknown) => Promise<Answer>;
  readonly patch: (path: string, body: unknown, contentType?: string) => Promise<Answer>;
  readonly delete: (path: string) => Promise<Answer>;
}

/** An API server; closed when the test ends. */
export function apiOf(
  access: Pick<SharedKubernetes, 'url' | 'ca' | 'adminToken'>,
  token: string = access.adminToken,
): Api {
  const api = connect(access, token);
  onTestFinished(() => api.close());
  return api;
}

/** An API server that somebody else closes. */
export function connect(
  { url, ca, adminToken }: Pick<SharedKubernetes, 'url' | 'ca' | 'adminToken'>,
  token: string = adminToken,
): Api & { readonly close: () => Promise<void> } {
  const config = new ConnectedConfig(ca, 60_000);
  config.loadFromClusterAndUser({ name: 'tests', server: url, skipTLSVerify: false }, { name: 'tests', token });
  const http = new IsomorphicFetchHttpLibrary();
  const ask = async (method: HttpMethod, path: string, content?: unknown, type = 'application/json') => {
    const context = new RequestContext(`${url}${path}`, method);
    context.setHeaderParam('content-type', type);
    if (content !== undefined) context.setBody(JSON.stringify(content));
    await config.applySecurityAuthentication(context);
    const { httpStatusCode, body } = await http.send(context).toPromise();
    const text = await body.text();
    return { status: httpStatusCode, body: text.startsWith('{') ? JSON.parse(text) : text };
  };
  return {
    core: config.makeApiClient(CoreV1Api),
    custom: config.makeApiClient(CustomObjectsApi),
    happened: config.makeApiClient(EventsV1Api),
    get: (path) => ask('GET', path),
    post: (path, body) => ask('POST', path, body),
    patch: (path, body, contentType = 'application/merge-patch+json') => ask('PATCH', path, body, contentType),
    delete: (path) => ask('DELETE', path),
    close: () => config.close(),
  };
}

/** A namespace for one test; deleted (without waiting) when the test ends. */
export async function freshNamespace(api: Api): Promise<string> {
  const name = `t-${randomUUID().slice(0, 8)}`;
  await api.post('/api/v1/namespaces', { metadata: { name } });
  onTestFinished(async () => void (await api.delete(`/api/v1/namespaces/${name}`)));
  return name;
}

/** Runs the kubectl that came with the control plane; returns what it printed. */
export async function kubectl(
  { binaries, kubeconfigPath }: Pick<SharedKubernetes, 'binaries' | 'kubeconfigPath'>,
  ...args: readonly string[]
): Promise<string> {
  const all = ['--kubeconfig', kubeconfigPath, ...args];
  // kubectl ends so soon that collecting garbage only costs time.
  const env = { ...process.env, GOGC: '400', KUBECACHEDIR: join(dirname(kubeconfigPath), 'run', 'kubectl') };
  const { stdout } = await promisify(execFile)(binaries.kubectl, all, { timeout: waiting.deadlineMs, env });
  return stdout;
}

/**
 * How everything is waited for. Looking more often costs more than it saves. The deadline is the same for all and far from what anything
 * takes: it says what has not come, and is no measure of the machine.
 */
export const waiting: PollOptions = { everyMs: 200, deadlineMs: 240_000 };

/** Waits until something is so. Fails the test with what was awaited when it is not in time. */
export async function eventually(
  what: string,
  isSo: () => Promise<boolean>,
  deadlineMs = waiting.deadlineMs,
): Promise<void> {
  const came = await poll(async () => ((await isSo()) ? true : undefined), { ...waiting, deadlineMs });
  if (came === undefined) throw new Error(`not so after ${deadlineMs / 1000} s: ${what}`);
}

/** A field of an untyped answer. */
export function field(value: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>((at, name) => (isRecord(at) ? at[name] : undefined), value);
}

/** A text, or the empty one. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
