// Shows accounts with their tokens, apps and environments in one long list.
import { byId, chip, el, mono, on, rowNode, tag } from './base/elements.js';
import { accountActions, appActions, environmentActions, tokenActions } from './actions.js';
import { openRequest } from './request/try.js';
import { drawOn, groups, redraw, rowsOf, tables } from './base/state.js';
import { windowedList } from './base/windowed.js';
import { chipFor, count, listed, readinessOf, statusOf } from './base/words.js';

const showRows = windowedList('tree', 34);

export function prepareWorld() {
  on('find', 'input', () => redraw('find'));
  on('new-account', 'click', () => openRequest('POST /_sim/accounts'));
  drawOn(
    ['find', 'world', 'accounts', 'tokens', 'memberships', 'apps', 'environments', 'alerts', 'configurations'],
    drawWorld,
  );
}

function drawWorld() {
  const { accounts, apps, environments, tokens } = tables;
  byId('n-environments').textContent = environments.size.toLocaleString('en');
  const sums = [count(accounts.size, 'account'), count(apps.size, 'app'), count(environments.size, 'environment')];
  byId('world-sum').textContent = sums.join(', ');
  const wanted = byId('find').value.trim().toLowerCase();
  const hits = (...texts) => texts.some((text) => String(text).toLowerCase().includes(wanted));
  const appsOf = groups('apps', 'accountId');
  const membersOf = groups('memberships', 'accountId');
  const environmentsOf = groups('environments', 'appId');
  const alertsOf = groups('alerts', 'appEnvId');
  const protections = new Map(rowsOf('configurations').map((row) => [row.appEnvId, row]));

  const environmentRow = (env) => {
    const firing = (alertsOf.get(env.id) ?? []).filter(({ state, enabled }) => enabled && state === 'Firing').length;
    const from = () => [env, firing, guardOf(protections.get(env.id))];
    return { key: `env ${env.id}`, from, make: environmentNode };
  };
  const appRows = (app) => {
    const appHit = hits(app.name, app.id, app.preset);
    const own = environmentsOf.get(app.id) ?? [];
    const shown = own.filter((env) => appHit || hits(env.name, env.id, env.cliEnvName, env.region, env.status));
    if (!appHit && shown.length === 0) return [];
    const row = { key: `app ${app.id}`, from: () => [app, own.length], make: appNode };
    return [row, ...shown.map(environmentRow)];
  };
  const memberRow = (member, account) => ({
    key: `member ${member.id}`,
    from: () => [member, tokens.get(member.token), account],
    make: memberNode,
  });
  const accountRows = (account) => {
    const own = appsOf.get(account.id) ?? [];
    const accountHit = hits(account.name, account.id);
    const members = (membersOf.get(account.id) ?? []).filter(({ token, id }) => accountHit || hits(token, id));
    const rows = [...members.map((member) => memberRow(member, account)), ...own.flatMap(appRows)];
    if (rows.length === 0 && !accountHit) return [];
    return [{ key: `account ${account.id}`, from: () => [account, own.length], make: accountNode }, ...rows];
  };
  const none = wanted === '' ? 'No accounts. Make one with “New account”.' : `Nothing matches “${wanted}”.`;
  showRows(rowsOf('accounts').flatMap(accountRows), none);
}

/** Describes the protection of an environment in the list: its readiness, and the phase of a running activation. */
function guardOf(protection) {
  if (protection === undefined) return undefined;
  const active = protection.operations.find(({ kind, endedAt }) => kind === 'activation' && endedAt === undefined);
  const { phase, failedSteps } = active ?? {};
  return { state: protection.readiness.state, phase, failedSteps };
}

function accountNode(account, appCount) {
  const about = el(
    'div.line',
    el('h3.any', account.name),
    mono(account.id),
    el('span.muted.small', count(appCount, 'app')),
    account.memberEnvAccess && tag('member access on'),
    account.sandboxEntitlement && tag('sandbox'),
  );
  return rowNode('account', account.name, () => accountActions(account), about);
}

const permissionNames = { manageMembers: 'Manage Members', secretsAccess: 'Secrets Access' };

function memberNode(member, token, account) {
  const { role, permissions, allowedAppEnvIds } = member;
  const few = token && token.scopes.length < 4;
  const restricted = `restricted to ${count(allowedAppEnvIds.length, 'environment')}`;
  const rights = listed(
    role,
    ...permissions.map((name) => permissionNames[name] ?? name),
    token?.kind === 'environment' && 'environment token',
    few && (token.scopes.length === 0 ? 'no scope' : `${token.scopes.join(', ')} only`),
    allowedAppEnvIds.length > 0 && (account.memberEnvAccess ? restricted : `${restricted} (off)`),
  );
  const name = el('span.mono.any', { title: `membership ${member.id}` }, shortened(member.token));
  return rowNode('member', member.token, () => tokenActions(member), name, el('span.muted.small.any', rights));
}

const shortened = (text) => (text.length > 40 ? `${text.slice(0, 39)}…` : text);

function appNode(app, environmentCount) {
  const about = el(
    'div.line',
    el('h4.any', app.name),
    tag(app.preset),
    mono(app.id),
    environmentCount === 0 && el('span.muted.small', 'no environments'),
    app.deletionStarted && chip('warn', 'half', 'being deleted'),
    app.sandboxTermination !== 'done' && tag(`sandbox termination ${app.sandboxTermination}`),
  );
  return rowNode('app', app.name, () => appActions(app), about);
}

function environmentNode(env, firing, guard) {
  const about = el(
    'div.line',
    el('span.any', env.name),
    mono(env.cliEnvName),
    el('span.muted.small', `${env.region}${env.deployed ? '' : ', never deployed'}`),
    env.pendingChanges.length > 0 && chip('info', 'half', `${env.pendingChanges.length} pending`),
    env.preventDestroy && tag('protected from deletion'),
    firing > 0 && chip('bad', 'alert', `${firing} firing`),
    guard?.phase && activationChip(guard),
    guard && protectionChip(guard.state),
  );
  const status = chipFor(statusOf, env.status);
  return rowNode('env', `${env.name} ${env.cliEnvName}`, () => environmentActions(env), status, about);
}

function activationChip({ phase, failedSteps }) {
  if (failedSteps > 0) return chip('bad', 'alert', `activation: ${count(failedSteps, 'failed step')}`);
  return chip('info', 'half', `activation: ${phase}`);
}

function protectionChip(state) {
  const [tone = ''] = readinessOf[state] ?? [];
  return chip(tone, 'shield', el('span.gone', 'protection '), state);
}
