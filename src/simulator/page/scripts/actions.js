// Lists the actions in the menu of a row of the page. Each action opens a request that is already filled in.
import { openRequest, useToken } from './request/try.js';

const to = (text, name, given) => [text, () => openRequest(name, given)];
const line = ['-'];

export function accountActions({ id }) {
  const inIt = { accountId: id };
  return [
    to('New app…', 'POST /app', inIt),
    to('New contact point…', 'POST /contact-point', inIt),
    to('Install a solution…', 'POST /solutions', inIt),
    to('Protect an environment…', 'POST /disaster-readiness/configure', inIt),
    line,
    to('Change the account…', 'PATCH /_sim/accounts/:id', { id }),
    to('New token…', 'POST /_sim/tokens', inIt),
    to('New credential…', 'POST /_sim/credentials', inIt),
  ];
}

export function tokenActions({ id, token, accountId }) {
  return [
    ['Send requests with it', () => useToken(token)],
    to('What it may see…', 'PATCH /member/env-access', { accountId, membershipId: id }),
    line,
    to('Change the token…', 'PATCH /_sim/tokens/:id', { id: token }),
    to('Delete the token…', 'DELETE /_sim/tokens/:id', { id: token }),
  ];
}

export function appActions({ id, accountId }) {
  const it = { appId: id };
  return [
    to('Show', 'GET /app', it),
    to('Change…', 'PATCH /app', it),
    to('Delete…', 'DELETE /app', it),
    line,
    to('New environment…', 'POST /_sim/environments', { ...it, accountId }),
    to('The result of its deletion…', 'PATCH /_sim/apps/:id', { id }),
  ];
}

export function environmentActions({ id, accountId, status }) {
  const it = { appEnvId: id };
  return [
    to('Deploy an image…', 'POST /app-env/deploy-image', it),
    to('Build…', 'POST /app-env/build', it),
    to('Redeploy…', 'POST /app-env/redeploy', it),
    to('Roll back…', 'POST /app-env/rollback', it),
    status === 'stopped' ? to('Start…', 'POST /app-env/start', it) : to('Stop…', 'POST /app-env/stop', it),
    to('New alert…', 'POST /app-env/alert', it),
    to('Protect…', 'POST /disaster-readiness/configure', { accountId, 'items/0/sourceAppEnvId': id }),
    line,
    to('Change its status and more…', 'PATCH /_sim/environments/:id', { id }),
    to('Show all its fields', 'GET /_sim/environments/:id', { id }),
    to('Delete…', 'DELETE /_sim/environments/:id', { id }),
  ];
}

export function pointActions({ id }) {
  const it = { contactPointId: id };
  return [
    to('Show', 'GET /contact-point', it),
    to('Change…', 'PATCH /contact-point', it),
    to('Delete…', 'DELETE /contact-point', it),
    line,
    to('Where it is deployed…', 'PATCH /_sim/contact-points/:id', { id }),
  ];
}

export function alertActions({ id, enabled }) {
  const it = { alertId: id };
  return [
    to('Show', 'GET /alert', it),
    to('Change…', 'PATCH /alert', it),
    to(enabled ? 'Pause…' : 'Let it go on…', 'POST /alert/toggle', it),
    to('Refresh…', 'POST /alert/refresh', it),
    to('Delete…', 'DELETE /alert', it),
  ];
}

export function protectionActions({ id, accountId, appEnvId }) {
  const it = { accountId, configurationId: id };
  return [
    to('Edit…', 'POST /disaster-readiness/configure', { accountId, 'items/0/sourceAppEnvId': appEnvId }),
    to('Check…', 'POST /disaster-readiness/validate', it),
    to('List its points', 'GET /disaster-readiness/points', it),
    to('Activate…', 'POST /disaster-readiness/activate', it),
    to('Give an activation up…', 'POST /disaster-readiness/discard-activation', it),
    to('Reset…', 'POST /disaster-readiness/reset', { accountId, sourceAppEnvId: appEnvId }),
    line,
    to('Set its circumstances…', 'PATCH /_sim/configurations/:id', { id }),
  ];
}
