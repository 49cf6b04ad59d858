import { accounts, memberships, regions, tokens } from '../../service/accounts/records.ts';
import { alerts } from '../../service/alerts/alert.ts';
import { apps } from '../../service/apps/app.ts';
import { contactPoints } from '../../service/contact-points/contact-point.ts';
import { configurations } from '../../service/disaster/rows.ts';
import { environments } from '../../service/environments/environment.ts';
import { everyReading } from '../../store/readings.ts';
import { type Form, type FormPlace, type FormValues, formsOf } from './form.ts';

const anEnvironment = 'id*@environments';
const aConfiguration = 'id*@configurations';

/**
 * The forms of the web page for control requests (/_sim), which simulate conditions and do what only the console of the real service can
 * do.
 */
export const controlForms: readonly Form[] = [
  ...formsOf('Control: accounts and tokens', {
    'POST /_sim/accounts': [
      'creates an account',
      'name*,accountId,memberEnvAccess?,sandboxEntitlement?',
      (at) => ({ accountId: undefined, name: at.freeName('Team', accounts, ({ name }) => name) }),
    ],
    'PATCH /_sim/accounts/:id': [
      'changes an account',
      'id*@accounts,name,memberEnvAccess?<id,sandboxEntitlement?<id',
      (at) => ({ memberEnvAccess: at.row('id', accounts)?.memberEnvAccess }),
    ],
    'POST /_sim/tokens': [
      'creates a token',
      'token,memberships{}*,kind=user|environment,scopes[]=everyScope,currentAccountId@accounts',
      ({ accountId, freeName }) => ({
        token: freeName('new-member', tokens, ({ token }) => token),
        memberships: accountId === undefined ? undefined : [{ accountId, role: 'member' }],
        currentAccountId: accountId,
      }),
    ],
    'PATCH /_sim/tokens/:id': [
      'changes a token',
      'id*@tokens,memberships{}<id,kind=user|environment,scopes[]=everyScope<id,currentAccountId@accounts',
      changedToken,
    ],
    'DELETE /_sim/tokens/:id': ['deletes a token', 'id*@tokens'],
    'POST /_sim/credentials': [
      'adds a credential to an account, so that requests may use its id',
      'accountId*@accounts,kind*=storage|llm|registry,credentialId',
      () => ({ kind: 'storage' }),
    ],
  }),
  ...formsOf('Control: apps and environments', {
    'POST /_sim/environments': [
      'creates an environment',
      `appId*@apps,name*<appId,appEnvId,cliEnvName,region*@regions,status=running|stopped|updating<appId,deployed?,
      gitBranch,volumes#,preventDestroy?<appId,resources{}<appId,createdBy@tokens`,
      newEnvironment,
    ],
    'GET /_sim/environments/:id': ['shows an environment with fields that the public API hides', anEnvironment],
    'PATCH /_sim/environments/:id': [
      'changes an environment',
      `${anEnvironment},name,cliEnvName,region@regions,status=running|stopped|updating<id,deployed?,gitBranch,volumes#,
      preventDestroy?<id,resources{}<id`,
      (at) => {
        const { status, preventDestroy, resources } = at.row('id', environments) ?? {};
        return { status, preventDestroy, resources };
      },
    ],
    'DELETE /_sim/environments/:id': ['deletes an environment', anEnvironment],
    'PATCH /_sim/apps/:id': [
      'sets the outcome of terminating the sandbox workloads of an app',
      'id*@apps,sandboxTermination=done|pending|failed<id',
      (at) => ({ sandboxTermination: at.row('id', apps)?.sandboxTermination }),
    ],
  }),
  ...formsOf('Control: alerts', {
    'PATCH /_sim/contact-points/:id': [
      'sets the regions to which a contact point is deployed',
      'id*@contactPoints,deployedTo[]@regions<id',
      (at) => ({ deployedTo: at.row('id', contactPoints)?.dashboardDeployments.map(({ region }) => region) }),
    ],
    'POST /_sim/metrics': [
      'sets the value that a metric has from now on',
      'appEnvId*@environments,metric*=metricNames,value{}*,pods{}',
      (at) => {
        const alert = at.chosen('appEnvId') === undefined ? at.rows(alerts)[0] : undefined;
        const where = alert === undefined ? {} : { appEnvId: alert.appEnvId };
        return { ...where, metric: alert?.metric ?? 'cpu_percent', value: 95 };
      },
    ],
    'POST /_sim/alerts/evaluate': ['evaluates every alert now'],
  }),
  ...formsOf('Control: disaster readiness', {
    'PATCH /_sim/regions/:id': [
      'takes a region down or up, or changes the features that it supports',
      'id*@regions,up?<id,supports/functions?<id,supports/sandbox?<id,supports/disasterReadiness?<id',
      (at) => ({ up: at.row('id', regions)?.up }),
    ],
    'PATCH /_sim/configurations/:id': [
      'changes how a protection behaves, for example makes steps of its operation fail, or advances the operation',
      `${aConfiguration},failSteps#<id,nextPhase?,setPhase=phases,hold?,nextValidation=pass|fail|cleanupUnverifiable,
      standby/shape=standard|seedBoost|sustained,standby/reason,standby/caughtUp?,readiness{},engineUnavailableReason,
      pendingCleanup{},validationCleanup{},applySeconds#,firstCopyBytes#`,
      (at) => {
        const row = at.row('id', configurations);
        return { failSteps: row && row.told.failSteps + 1 };
      },
    ],
    'POST /_sim/configurations/:id/points': ['takes snapshots now', `${aConfiguration},count#`, () => ({ count: 1 })],
  }),
  ...formsOf('Control: simulator', {
    'GET /_sim/': ['lists every route, fault effect and simulator option'],
    'GET /_sim/healthz': ['answers 200 while the simulator is running'],
    'GET /_sim/clock': ['shows the time of the simulator, and if the clock is real or virtual'],
    'POST /_sim/clock/advance': ['advances the virtual clock', 'ms#*', () => ({ ms: 60_000 })],
    'POST /_sim/reset': ["replaces all data with the simulator's start data (flag --world)", 'world{}'],
    'GET /_sim/world': ['shows all data of the simulator'],
    'GET /_sim/ledger': ['lists all changes', 'after#'],
    'GET /_sim/requests': ['lists the public requests received so far', 'after#'],
    'GET /_sim/counts': ['counts requests, and requests that changed something, by method and path'],
    'GET /_sim/readings': ['shows the values of all simulator options'],
    'PATCH /_sim/readings': [
      'changes simulator options',
      everyReading.map(readingField).join(', '),
      () => ({ 'deploy.ms': 3000 }),
    ],
    'GET /_sim/faults': ['lists the faults that are not used up yet'],
    'POST /_sim/faults': [
      'injects a fault',
      'match/method=GET|POST|PATCH|DELETE,match/path,match/bodyContains,match/skip#,match/count#,effect{}*',
      () => ({ 'match/method': 'POST', 'match/path': '/contact-point', effect: { status: 503 } }),
    ],
    'DELETE /_sim/faults': ['deletes every fault'],
    'DELETE /_sim/faults/:id': ['deletes a fault', 'id*@faults'],
  }),
];

function changedToken(at: FormPlace): FormValues {
  // Do not suggest `demo-admin` if there is another token. The page at first sends its own requests with `demo-admin`, and a change to this
  // token could take away the permissions that these requests need.
  const token = at.row('id', tokens, (each) => each.token !== 'demo-admin');
  const own = token === undefined ? [] : at.world.of(memberships).where('token', token.token);
  const kept = own.map(({ token: _token, allowedAppEnvIds: _ids, ...membership }) => membership);
  return { id: token?.token, scopes: token?.scopes, memberships: kept };
}

function newEnvironment(at: FormPlace): FormValues {
  const region = at.rows(regions).find(({ up, supports }) => up && supports.functions) ?? at.rows(regions)[0];
  const name = at.freeName('test', environments, (each) => each.name);
  return { name, region: region?.name, status: 'running' };
}

function readingField({ name, values }: (typeof everyReading)[number]): string {
  return values.includes('N') ? `${name}{}` : `${name}=${values.join('|')}`;
}
