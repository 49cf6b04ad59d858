import { any, ask, type More } from '../by-the-text.ts';
import type { Json } from '../box.ts';

export const account = { accountId: 'acc_demo' };
export const minute = 60_000;
export const day = 1440 * minute;
export const email = { ...account, name: 'mail', type: 'email', config: { addresses: ['a@example.com'] } };
export const makePoint = (changes: object = {}) =>
  ask('POST /contact-point', { ...email, ...changes }, 200, { keep: { cp: 'contactPoint.contactPointId' } });
const rule = { appEnvId: 'env_web_prod', name: 'busy', metric: 'cpu_percent', operator: 'gt', threshold: 80 };
const alertBody = { ...rule, duration: '5m', contactPointIds: ['$cp'] };
export const makeAlert = (changes: object = {}, status: number | '4xx' | 'error' = 200, more: More = {}) =>
  ask('POST /app-env/alert', { ...alertBody, ...changes }, status, { keep: { al: 'alert.alertId' }, ...more });
export const token = (name: string, more: object = {}, membership: object = {}) =>
  ask(
    'POST /_sim/tokens',
    { token: name, memberships: [{ ...account, role: 'admin', ...membership }], currentAccountId: 'acc_demo', ...more },
    200,
  );
export const hidden = (appEnvId: string, shows: Json) =>
  ask(`GET /_sim/environments/${appEnvId}`, undefined, 200, { shows });
export const configure = (item: object, status: number | '4xx' | 'error' = 200, more: More = {}, common: object = {}) =>
  ask(
    'POST /disaster-readiness/configure',
    {
      ...account,
      common,
      items: [{ sourceAppEnvId: 'env_web_prod', requestId: 'r1', expectedGeneration: 0, ...item }],
    },
    status,
    more,
  );
export const succeeds = { shows: { items: [{ success: true }] }, keep: { dr: 'items.0.configurationId' } };
export const fails = { shows: { items: [{ sourceAppEnvId: any('string'), success: false, error: any('string') }] } };
export const points = ask('GET /disaster-readiness/points?accountId=acc_demo&configurationId=$dr', undefined, 200, {
  keep: { point: 'items.0.pointId', op: 'items.0.selectedOperationId', cut: 'items.0.cutoffAt' },
});
export const activation = {
  ...account,
  configurationId: '$dr',
  expectedGeneration: 1,
  requestId: 'a1',
  selectedOperationId: '$op',
  pointId: '$point',
  cutoffAt: '$cut',
  target: { envName: 'recovered', createNewApp: false },
};
export const activate = (changes: object, status: number | '4xx' | 'error', more: More = {}) =>
  ask('POST /disaster-readiness/activate', { ...activation, ...changes }, status, more);
export const protectedWeb = [configure({}, 200, succeeds), minute, points] as const;
export const reset = (changes: object, status: number | '4xx' | 'error', more: More = {}) =>
  ask('POST /disaster-readiness/reset', { ...account, ...changes }, status, more);
export const app = { ...account, name: 'x', port: 80 };
export const git = { gitNamespace: 'n', gitRepo: 'r', gitInstallationId: 'i' };
export const makeApp = (changes: object = {}) =>
  ask('POST /app', { ...app, ...changes }, 200, { keep: { app: 'appId' } });
export const deploy = (body: object, status: number | '4xx' | 'error', more: More = {}) =>
  ask('POST /app-env/deploy-image', { appEnvId: 'env_web_prod', image: 'i:1', ...body }, status, more);
export const restrict = [
  ask('PATCH /_sim/accounts/acc_demo', { memberEnvAccess: true }, 200),
  ask('PATCH /member/env-access', { ...account, membershipId: 'mem_demo', allowedAppEnvIds: ['env_fn_prod'] }, 200),
] as const;
export const asMember = { as: 'demo-member' } as const;
export const web = { scope: 'environment', sourceAppEnvId: 'env_web_prod', confirmationName: 'production' };
export const tell = (body: object) => ask('PATCH /_sim/configurations/$dr', body, 200);
export const install = { ...account, solutionSlug: 'queue-worker', appName: 'jobs', region: 'eu-west' };
export const key = ask('POST /_sim/credentials', { credentialId: 'llm', ...account, kind: 'llm' }, 200);
const inputs = { llmProviderKeyId: 'llm', agentPrimaryModel: 'a', agentSecondaryModel: 'b' };
export const agent = (changes: object = {}) => ({
  ...install,
  solutionSlug: 'sandbox-agent',
  inputs: { ...inputs, ...changes },
});
