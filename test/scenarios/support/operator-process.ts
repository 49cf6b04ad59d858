import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { request } from 'undici';
import { parseAllDocuments } from 'yaml';
import { kubeconfigFor } from '../../../src/sandbox/control-plane/credentials.ts';
import { refusedTo } from './audit.ts';
import { kubectl, type Api } from './kubernetes.ts';
import { printed, startProgram, type Running } from './running.ts';
import type { SharedKubernetes } from './shared-control-plane.ts';

const kustomize = join(import.meta.dirname, '..', '..', '..', 'deploy', 'kustomize');

/** A control plane as far as the operator's processes need it. */
export type Plane = Pick<SharedKubernetes, 'url' | 'ca' | 'adminToken' | 'kubeconfigPath' | 'binaries'> & {
  readonly auditLogPath: string | undefined;
};

/** The operator's own place in a cluster: its namespace and a service account with the permissions we generate. */
export interface Post {
  readonly namespace: string;
  readonly kubeconfigPath: string;
  /** How the audit log names it. */
  readonly user: string;
  readonly auditLogPath: string | undefined;
}

const account = 'apphosting-operator';

/**
 * Makes a namespace for operators, with the service account and the permissions of an overlay of `deploy/`, and no others. It goes with the
 * cluster: to delete one costs a hundred requests, again every few seconds while an object in it waits for an operator that has ended.
 */
export async function aPost(plane: Plane, api: Api, scope: 'cluster-wide' | 'namespaced'): Promise<Post> {
  const namespace = `op-${randomUUID().slice(0, 8)}`;
  await api.post('/api/v1/namespaces', { metadata: { name: namespace } });
  for (const [path, object] of await permissions(plane, scope, namespace)) {
    const { status, body } = await api.post(path, object);
    // The cluster's role is the same for each post.
    if (status !== 201 && status !== 409) throw new Error(`${path}: ${JSON.stringify(body)}`);
  }
  return postIn(plane, api, namespace);
}

/** The post in a namespace that has its service account already. */
async function postIn(plane: Plane, api: Api, namespace: string): Promise<Post> {
  const asked = { spec: { expirationSeconds: 3_600 } };
  const { body } = await api.post(`/api/v1/namespaces/${namespace}/serviceaccounts/${account}/token`, asked);
  const { token } = (body as { status: { token: string } }).status;
  const kubeconfigPath = join(dirname(plane.kubeconfigPath), `kubeconfig-${namespace}`);
  await writeFile(kubeconfigPath, kubeconfigFor(plane.url, plane.ca, account, token), { mode: 0o600 });
  const user = `system:serviceaccount:${namespace}:${account}`;
  return { namespace, kubeconfigPath, user, auditLogPath: plane.auditLogPath };
}

const rbac = '/apis/rbac.authorization.k8s.io/v1';

/** Overlays as kubectl renders them, which is the same each time. */
const renderings = new Map<string, Promise<string>>();

function rendering(plane: Plane, scope: string): Promise<string> {
  const known = renderings.get(scope) ?? kubectl(plane, 'kustomize', join(kustomize, 'overlays', scope));
  renderings.set(scope, known);
  return known;
}

/** The objects of an overlay that say who the operator is and what it may do, moved into a namespace; with their paths. */
async function permissions(plane: Plane, scope: string, namespace: string) {
  const rendered = await rendering(plane, scope);
  const paths: Readonly<Record<string, string>> = {
    ServiceAccount: `/api/v1/namespaces/${namespace}/serviceaccounts`,
    Role: `${rbac}/namespaces/${namespace}/roles`,
    RoleBinding: `${rbac}/namespaces/${namespace}/rolebindings`,
    ClusterRole: `${rbac}/clusterroles`,
    ClusterRoleBinding: `${rbac}/clusterrolebindings`,
  };
  return parseAllDocuments(rendered).flatMap((document) => {
    const object = document.toJS() as Permission;
    const path = paths[object.kind];
    if (path === undefined || !object.metadata.name.startsWith(account)) return [];
    const subjects = object.subjects?.map((subject) => ({ ...subject, namespace }));
    const isShared = object.kind === 'ClusterRoleBinding';
    const metadata = { name: isShared ? `${account}-${namespace}` : object.metadata.name };
    return [[path, { ...object, metadata, ...(subjects && { subjects }) }] as const];
  });
}

interface Permission {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly subjects?: readonly object[];
}

/** The operator as a process of its own. */
export interface OperatorProcess extends Running {
  /** What `/healthz`, `/readyz` or `/metrics` answers. */
  readonly probe: (path: string) => Promise<{ readonly status: number; readonly text: string }>;
}

/**
 * Settings of every operator here, so that what is waited for comes soon: what a lost call, a silent holder and a poll cost in
 * earnest is proved on the virtual clock, with the real numbers. The horizon and the polls are less than a tenth of the defaults. The
 * deadline is a fifth: a tenth would give a read one second, which three control planes on two busy cores do not always keep, and a
 * call would be lost that no test has broken. There is no lease, so that only the test ends an operator.
 */
const brisk: Readonly<Record<string, string>> = {
  '--call-deadline-seconds': '6',
  '--horizon-seconds': '2',
  '--leader-elect': 'off',
  '--poll-seconds': '2',
};

/** These flags, and the brisk ones that they do not give themselves. */
function brisklyWith(flags: readonly string[]): readonly string[] {
  return [...Object.entries(brisk).flatMap((pair) => (flags.includes(pair[0]) ? [] : pair)), ...flags];
}

/** With a lease that ends sooner than by default, and that a busy machine still renews in time: whoever loses it ends. */
export const withLease = ['--leader-elect', 'on', '--lease-seconds', '10'];

/**
 * Starts `apphosting run` at a post; it has begun to listen when this returns. Its end fails the test when it asked for anything
 * that its permissions do not have, or when it had ended by itself.
 */
export async function startOperator(post: Post, ...args: readonly string[]): Promise<OperatorProcess> {
  const operator = await startMortal(post, ...args);
  const end = async () => {
    await operator.end();
    const said = operator.gaveUp();
    if (said !== undefined) throw new Error(`the operator ended by itself:\n${said.slice(-4_000)}`);
  };
  return { ...operator, end };
}

/** The same for an operator that may end by itself. */
export async function startMortal(post: Post, ...args: readonly string[]): Promise<OperatorProcess> {
  const running = startProgram([
    'run',
    '--kubeconfig',
    post.kubeconfigPath,
    '--operator-namespace',
    post.namespace,
    '--metrics-listen',
    '127.0.0.1:0',
    '--allow-insecure-loopback',
    ...brisklyWith(args),
  ]);
  const [, port = ''] = await printed(running, /"metrics":"127\.0\.0\.1:(\d+)"/);
  return {
    ...running,
    end: async () => {
      await running.end();
      const refused = post.auditLogPath === undefined ? [] : await refusedTo(post.auditLogPath, post.user);
      if (refused.length > 0) throw new Error(`the operator was refused what it asked for:\n${refused.join('\n')}`);
    },
    probe: async (path) => {
      const { statusCode, body } = await request(`http://127.0.0.1:${port}${path}`, {
        signal: AbortSignal.timeout(60_000),
      });
      return { status: statusCode, text: await body.text() };
    },
  };
}
