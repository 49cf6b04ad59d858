import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { apiOf, eventually, freshNamespace, kubectl, sharedKubernetes, type Api } from './support/kubernetes.ts';

const kustomize = join(import.meta.dirname, '..', '..', 'deploy', 'kustomize');

let api: Api;
let namespace: string;

beforeEach(async () => {
  api = apiOf(sharedKubernetes());
  namespace = await freshNamespace(api);
  const files = [
    'roles/rbac.yaml',
    'base/rbac.yaml',
    'overlays/cluster-wide/rbac.yaml',
    'overlays/namespaced/rbac.yaml',
  ];
  const flags = files.flatMap((file) => ['-f', join(kustomize, file)]);
  await kubectl(sharedKubernetes(), 'apply', '--server-side', '-n', namespace, ...flags);
});

/** Gives a user a cluster role within the namespace. */
async function bind(user: string, role: string): Promise<void> {
  const answer = await api.post(`/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/rolebindings`, {
    metadata: { name: `${user}-${role}` },
    subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: user }],
    roleRef: { kind: 'ClusterRole', apiGroup: 'rbac.authorization.k8s.io', name: role },
  });
  expect(answer.status).toBe(201);
}

async function may(user: string, verb: string, plural: string): Promise<boolean> {
  const { body } = await api.post('/apis/authorization.k8s.io/v1/subjectaccessreviews', {
    spec: { user, resourceAttributes: { namespace, verb, group: 'apphosting.dev', resource: plural } },
  });
  return (body as { status: { allowed: boolean } }).status.allowed;
}

// Joining view, edit and admin is the work of the controller manager, which not every control plane has.
describe.skipIf(sharedKubernetes().binaries.controllerManager === undefined)('the roles for people', () => {
  it.each([
    ['view', 'get', 'recoveryactivations', 'create', 'contactpoints'],
    ['edit', 'create', 'contactpoints', 'create', 'recoveryactivations'],
    ['edit', 'create', 'disasterprotections', 'activate', 'disasterprotections'],
    ['edit', 'create', 'recoveryvalidations', 'create', 'memberaccesses'],
    ['admin', 'create', 'memberaccesses', 'create', 'disasterresets'],
    ['admin', 'create', 'hostingaccounts', 'create', 'activationdiscards'],
    ['apphosting-activator', 'create', 'recoveryactivations', 'create', 'disasterresets'],
    ['apphosting-activator', 'activate', 'disasterprotections', 'update', 'disasterprotections'],
    ['apphosting-resetter', 'create', 'disasterresets', 'create', 'recoveryactivations'],
  ])('let %s %s %s, but not %s %s', async (role, verb, plural, forbiddenVerb, forbiddenPlural) => {
    await bind('someone', role);

    await eventually(`${role} may ${verb} ${plural}`, async () => may('someone', verb, plural));
    expect(await may('someone', forbiddenVerb, forbiddenPlural)).toBe(false);
  });
});
