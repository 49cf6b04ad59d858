import { randomUUID } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import { auditOf } from '../support/audit.ts';
import { apiOf, eventually, freshNamespace, kubectl, sharedKubernetes, field, textOf } from '../support/kubernetes.ts';

const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** A definition with rules over the old and the new object, a selectable field and a status of its own. */
function definition(group: string) {
  const spec = {
    type: 'object',
    required: ['size'],
    properties: { size: { type: 'integer' } },
    'x-kubernetes-validations': [
      { rule: 'self.size < 10', message: 'size must be below 10' },
      { rule: 'self.size >= oldSelf.size', message: 'size cannot shrink' },
    ],
  };
  const status = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `things.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind: 'Thing', plural: 'things', singular: 'thing' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          subresources: { status: {} },
          selectableFields: [{ jsonPath: '.spec.size' }],
          schema: { openAPIV3Schema: { type: 'object', properties: { spec, status } } },
        },
      ],
    },
  };
}

describe('the control plane', () => {
  it('says the version it was built from', async () => {
    const { body } = await apiOf(sharedKubernetes()).get('/version');

    expect(textOf(field(body, 'gitVersion'))).toMatch(/^v1\.36\.\d+$/);
  });

  it('accepts definitions with CEL rules and enforces them with their messages', async () => {
    const api = apiOf(sharedKubernetes());
    const namespace = await freshNamespace(api);
    const group = `g${randomUUID().slice(0, 8)}.example.com`;
    const things = `/apis/${group}/v1/namespaces/${namespace}/things`;
    const thing = (size: number) => ({
      apiVersion: `${group}/v1`,
      kind: 'Thing',
      metadata: { name: 'a' },
      spec: { size },
    });

    const accepted = await api.post(definitions, definition(group));
    onTestFinished(async () => void (await api.delete(`${definitions}/things.${group}`)));
    await eventually('the kind is served', async () => (await api.get(things)).status === 200);
    const tooBig = await api.post(things, thing(10));
    const fits = await api.post(things, thing(5));
    const smaller = await api.patch(`${things}/a`, { spec: { size: 4 } });

    expect(accepted.status).toBe(201);
    expect(tooBig.status).toBe(422);
    expect(textOf(field(tooBig.body, 'message'))).toContain('size must be below 10');
    expect(fits.status).toBe(201);
    expect(textOf(field(smaller.body, 'message'))).toContain('size cannot shrink');
  });

  it('lets a service account do only what a role gives it', async () => {
    const shared = sharedKubernetes();
    const admin = apiOf(shared);
    const namespace = await freshNamespace(admin);
    const inNamespace = `/api/v1/namespaces/${namespace}`;
    await admin.post(`${inNamespace}/serviceaccounts`, { metadata: { name: 'reader' } });
    const minted = await admin.post(`${inNamespace}/serviceaccounts/reader/token`, { spec: {} });
    const reader = apiOf(shared, textOf(field(minted.body, 'status', 'token')));

    const before = await reader.get(`${inNamespace}/configmaps`);
    const roles = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`;
    const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['list'] }];
    await admin.post(`${roles}/roles`, { metadata: { name: 'reader' }, rules });
    await admin.post(`${roles}/rolebindings`, {
      metadata: { name: 'reader' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'reader' },
      subjects: [{ kind: 'ServiceAccount', name: 'reader', namespace }],
    });

    expect(before.status).toBe(403);
    await eventually('the role counts', async () => (await reader.get(`${inNamespace}/configmaps`)).status === 200);
    expect((await reader.get(`${inNamespace}/secrets`)).status).toBe(403);
  });

  it('refuses who has no token, and a token nobody was given', async () => {
    const shared = sharedKubernetes();

    const answer = await apiOf(shared, 'made-up').get('/api/v1/namespaces');

    expect(answer.status).toBe(401);
  });

  it('finishes deleting a namespace with everything in it', async () => {
    const api = apiOf(sharedKubernetes());
    const namespace = await freshNamespace(api);
    await api.post(`/api/v1/namespaces/${namespace}/configmaps`, { metadata: { name: 'a' } });

    await api.delete(`/api/v1/namespaces/${namespace}`);

    const gone = async () => (await api.get(`/api/v1/namespaces/${namespace}`)).status === 404;
    await eventually('the namespace is gone', gone);
  });

  it('brings a kubectl that reads its kubeconfig', async () => {
    const names = await kubectl(sharedKubernetes(), 'get', 'namespaces', '-o', 'name');

    expect(names).toContain('namespace/default');
  });

  it('records who asked for what', async () => {
    const { auditLogPath, ...shared } = sharedKubernetes();
    const admin = apiOf(shared);
    const namespace = await freshNamespace(admin);
    const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`;
    await admin.post(accounts, { metadata: { name: 'asker' } });
    const minted = await admin.post(`${accounts}/asker/token`, { spec: {} });
    const asker = apiOf(shared, textOf(field(minted.body, 'status', 'token')));

    await asker.get(`/api/v1/namespaces/${namespace}/secrets`);

    const user = `system:serviceaccount:${namespace}:asker`;
    await eventually('it is recorded', async () => (await auditOf(auditLogPath, user)).length > 0);
    expect(await auditOf(auditLogPath, user)).toEqual([{ verb: 'list', user, what: '/secrets', namespace, code: 403 }]);
  });
});
