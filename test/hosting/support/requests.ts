import type { Request } from '../../../src/engine/ports.ts';
import * as r from '../../../src/hosting/requests.ts';
import { Secret } from '../../../src/base/json.ts';

/** What the requests of disaster readiness have in common. */
export const dr = { accountId: 'acc', configurationId: 'cfg', expectedGeneration: 3, requestId: 'req' };

/** A request of each endpoint that changes something or has a body, with the endpoint and the effect that it must have. */
export const requests: readonly (readonly [Request, string, Request['effect']])[] = [
  [r.postApp({ name: 'web', accountId: 'acc', port: 80, useImage: true, image: 'nginx' }), 'POST /app', 'create'],
  [
    r.postApp({ name: 'db', accountId: 'acc', dockerPreset: 'POSTGRESQL', containers: 1, disk: 10 }),
    'POST /app',
    'create',
  ],
  [
    r.patchApp({ appId: 'a', healthCheckPath: '', healthCheckHeaders: { 'x-key': new Secret('s') } }),
    'PATCH /app',
    'update',
  ],
  [r.deleteApp('a'), 'DELETE /app', 'remove'],
  [
    r.postSolutions({
      accountId: 'acc',
      solutionSlug: 's',
      appName: 'n',
      region: 'r',
      inputs: { key: new Secret('s') },
    }),
    'POST /solutions',
    'create',
  ],
  [
    r.postSolutions({ accountId: 'acc', solutionSlug: 's', appName: 'n', region: 'r', installationId: 'i' }),
    'POST /solutions',
    'identified',
  ],
  [
    r.postAppEnvDeployImage({
      appEnvId: 'e',
      image: 'nginx',
      envVars: { A: '', B: new Secret('s') },
      startupConfig: { command: 'x', args: [] },
    }),
    'POST /app-env/deploy-image',
    'create',
  ],
  [
    r.postAppEnvBuild({ envName: 'web-prod', isRebuild: true, fromContentId: 'c', clearStartupConfig: true }),
    'POST /app-env/build',
    'create',
  ],
  [r.postAppEnvRedeploy({ appEnvId: 'e' }), 'POST /app-env/redeploy', 'create'],
  [r.postAppEnvRollback({ appEnvId: 'e', targetContentId: 'c' }), 'POST /app-env/rollback', 'create'],
  [r.postAppEnvStop({ appEnvId: 'e' }), 'POST /app-env/stop', 'update'],
  [r.postAppEnvStart({ appEnvId: 'e' }), 'POST /app-env/start', 'update'],
  [
    r.patchMemberEnvAccess({ accountId: 'acc', membershipId: 'm', allowedAppEnvIds: ['e'] }),
    'PATCH /member/env-access',
    'update',
  ],
  [r.patchMemberEnvAccessToFull({ accountId: 'acc', membershipId: 'm' }), 'PATCH /member/env-access', 'update'],
  [
    r.postContactPoint({ accountId: 'acc', name: 'n', type: 'email', config: { addresses: ['a@b.example'] } }),
    'POST /contact-point',
    'create',
  ],
  [
    r.patchContactPoint({ contactPointId: 'c', config: { webhookUrl: new Secret('https://x') } }),
    'PATCH /contact-point',
    'update',
  ],
  [r.deleteContactPoint('c'), 'DELETE /contact-point', 'remove'],
  [
    r.postAppEnvAlert({
      appEnvId: 'e',
      name: 'n',
      metric: 'cpu_percent',
      operator: 'gt',
      threshold: 80,
      duration: '5m',
      contactPointIds: ['c'],
    }),
    'POST /app-env/alert',
    'create',
  ],
  [r.patchAlert({ alertId: 'a', threshold: 0, description: '' }), 'PATCH /alert', 'update'],
  [r.deleteAlert('a'), 'DELETE /alert', 'remove'],
  [r.postAlertToggle({ alertId: 'a', enabled: false }), 'POST /alert/toggle', 'update'],
  [r.postAlertRefresh({ alertId: 'a' }), 'POST /alert/refresh', 'read'],
  [
    r.postDisasterReadinessConfigure({
      accountId: 'acc',
      common: {},
      items: [{ sourceAppEnvId: 'e', requestId: 'r', expectedGeneration: 0, storageCredentialId: null, mode: 'cold' }],
    }),
    'POST /disaster-readiness/configure',
    'identified',
  ],
  [r.postDisasterReadinessValidate(dr), 'POST /disaster-readiness/validate', 'identified'],
  [
    r.postDisasterReadinessActivate({
      ...dr,
      selectedOperationId: 'o',
      pointId: 'p'.repeat(64),
      cutoffAt: '2026-01-01T00:00:00Z',
      target: { envName: 'e', createNewApp: false },
      writerSafetyAcknowledged: false,
    }),
    'POST /disaster-readiness/activate',
    'identified',
  ],
  [
    r.postDisasterReadinessDiscardActivation({ ...dr, operationId: 'o', discardAcknowledged: true }),
    'POST /disaster-readiness/discard-activation',
    'identified',
  ],
  [
    r.postDisasterReadinessReset({
      accountId: 'acc',
      scope: 'environment',
      confirmationName: 'n',
      sourceAppEnvId: 'e',
    }),
    'POST /disaster-readiness/reset',
    'remove',
  ],
  [
    r.postDisasterReadinessReset({ accountId: 'acc', scope: 'account', confirmationName: 'n' }),
    'POST /disaster-readiness/reset',
    'remove',
  ],
];
