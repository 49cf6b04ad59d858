import { type FormPlace, type FormValues, freeName } from './place.ts';
import { accounts, everyScope, memberships, regions, tokens } from '../../accounts/records.ts';
import { alerts } from '../../alerts/alert.ts';
import { metricNames } from '../../alerts/metrics.ts';
import { apps } from '../../apps/app.ts';
import { contactPoints } from '../../contact-points/contact-point.ts';
import { PHASES } from '../../disaster/model.ts';
import { configurations } from '../../disaster/rows.ts';
import { type Environment, environments } from '../../environments/environment.ts';
import { faults } from '../../public/faults.ts';
import { type ReadingName, registry, valuesOf } from '../../readings.ts';
import { type Field, type Form, flag, formsOf, id, json, list, needs, number, text } from './form.ts';

const byId = { follows: ['id'] };
const after = number('after');

/** The control surface: circumstances, and what only the console of the service can do. */
export const controlForms: readonly Form[] = [
  ...formsOf('Control: accounts and tokens', {
    'POST /_sim/accounts': [
      'creates an account',
      {
        fields: [needs(text('name')), text('accountId'), flag('memberEnvAccess'), flag('sandboxEntitlement')],
        fill: (at) => ({
          name: freeName(
            'Team',
            at.rows(accounts).map(({ name }) => name),
          ),
        }),
      },
    ],
    'PATCH /_sim/accounts/:id': [
      'changes an account',
      {
        fields: [id('id', 'accounts'), text('name'), flag('memberEnvAccess', byId), flag('sandboxEntitlement', byId)],
        fill: changedAccount,
      },
    ],
    'POST /_sim/tokens': ['creates a token', { fields: tokenFields(false), fill: newToken }],
    'PATCH /_sim/tokens/:id': ['changes a token', { fields: tokenFields(true), fill: changedToken }],
    'DELETE /_sim/tokens/:id': [
      'forgets a token',
      { fields: [id('id', 'tokens')], fill: (at) => ({ id: at.row('id', tokens, isSpare)?.token }) },
    ],
    'POST /_sim/credentials': [
      'creates what requests may name as a credential',
      {
        fields: [
          id('accountId', 'accounts'),
          needs(text('kind', { words: ['storage', 'llm', 'registry'] })),
          text('credentialId'),
        ],
        fill: ({ accountId }) => ({ accountId, kind: 'storage' }),
      },
    ],
  }),
  ...formsOf('Control: apps and environments', {
    'POST /_sim/environments': ['creates an environment', { fields: environmentFields(false), fill: newEnvironment }],
    'GET /_sim/environments/:id': [
      'shows an environment with what the interface hides',
      { fields: [id('id', 'environments')], fill: (at) => ({ id: at.row('id', environments)?.appEnvId }) },
    ],
    'PATCH /_sim/environments/:id': [
      'changes an environment',
      { fields: environmentFields(true), fill: changedEnvironment },
    ],
    'DELETE /_sim/environments/:id': [
      'deletes an environment',
      {
        fields: [id('id', 'environments')],
        fill: (at) => ({ id: at.chosen('id') ?? at.rows(environments).at(-1)?.appEnvId }),
      },
    ],
    'PATCH /_sim/apps/:id': [
      'sets what a deletion of the app runs into',
      {
        fields: [id('id', 'apps'), text('sandboxTermination', { words: ['done', 'pending', 'failed'], ...byId })],
        fill: (at) => {
          const app = at.row('id', apps);
          return { id: app?.appId, sandboxTermination: app?.sandboxTermination };
        },
      },
    ],
  }),
  ...formsOf('Control: alerts', {
    'PATCH /_sim/contact-points/:id': [
      'sets where a contact point is deployed',
      {
        fields: [id('id', 'contactPoints'), list('deployedTo', { pick: 'regions', ...byId })],
        fill: (at) => {
          const point = at.row('id', contactPoints);
          return { id: point?.contactPointId, deployedTo: point?.dashboardDeployments.map(({ region }) => region) };
        },
      },
    ],
    'POST /_sim/metrics': [
      'sets the value of a metric from now on',
      {
        fields: [
          id('appEnvId', 'environments'),
          needs(text('metric', { words: metricNames })),
          needs(json('value')),
          json('pods'),
        ],
        fill: metric,
      },
    ],
    'POST /_sim/alerts/evaluate': ['evaluates every alert now'],
  }),
  ...formsOf('Control: disaster readiness', {
    'PATCH /_sim/regions/:id': [
      'takes a region down or changes what it supports',
      {
        fields: [
          id('id', 'regions'),
          flag('up', byId),
          flag('supports/functions', byId),
          flag('supports/sandbox', byId),
          flag('supports/disasterReadiness', byId),
        ],
        fill: (at) => {
          const region = at.row('id', regions);
          return { id: region?.name, up: region?.up };
        },
      },
    ],
    'PATCH /_sim/configurations/:id': [
      'tells a protection its circumstances, or moves it on',
      {
        fields: tellingFields(),
        fill: (at) => {
          const row = at.row('id', configurations);
          return { id: row?.configurationId, failSteps: row === undefined ? undefined : row.told.failSteps + 1 };
        },
      },
    ],
    'POST /_sim/configurations/:id/points': [
      'takes snapshots now',
      {
        fields: [id('id', 'configurations'), number('count')],
        fill: (at) => ({ id: at.row('id', configurations)?.configurationId, count: 1 }),
      },
    ],
  }),
  ...formsOf('Control: simulator', {
    'GET /_sim/': ['lists every route, fault effect and reading'],
    'GET /_sim/healthz': ['says that it is up'],
    'GET /_sim/clock': ['shows the time, and which clock runs'],
    'POST /_sim/clock/advance': [
      'lets virtual time pass',
      { fields: [needs(number('ms'))], fill: () => ({ ms: 60_000 }) },
    ],
    'POST /_sim/reset': ['starts over', { fields: [json('world')] }],
    'GET /_sim/world': ['shows the whole state'],
    'GET /_sim/ledger': ['lists what was committed', { fields: [after] }],
    'GET /_sim/requests': ['lists the public requests', { fields: [after] }],
    'GET /_sim/counts': ['counts requests and commits by method and path'],
    'GET /_sim/readings': ['shows the readings'],
    'PATCH /_sim/readings': [
      'changes readings',
      {
        fields: Object.keys(registry).map((name) => readingField(name as ReadingName)),
        fill: () => ({ 'deploy.ms': 3000 }),
      },
    ],
    'GET /_sim/faults': ['lists the faults that wait'],
    'POST /_sim/faults': [
      'injects a fault',
      {
        fields: [
          text('match/method', { words: ['GET', 'POST', 'PATCH', 'DELETE'] }),
          text('match/path'),
          text('match/bodyContains'),
          number('match/skip'),
          number('match/count'),
          needs(json('effect')),
        ],
        fill: () => ({ 'match/method': 'POST', 'match/path': '/contact-point', effect: { status: 503 } }),
      },
    ],
    'DELETE /_sim/faults': ['forgets every fault'],
    'DELETE /_sim/faults/:id': [
      'forgets a fault',
      { fields: [id('id', 'faults')], fill: (at) => ({ id: at.row('id', faults)?.faultId }) },
    ],
  }),
];

function changedAccount(at: FormPlace): FormValues {
  const account = at.world.of(accounts).get(at.chosen('id') ?? at.accountId ?? '') ?? at.row('id', accounts);
  return { id: account?.accountId, memberEnvAccess: account?.memberEnvAccess };
}

function tokenFields(isChange: boolean): readonly Field[] {
  const memberOf = json('memberships', isChange ? byId : {});
  return [
    isChange ? id('id', 'tokens') : text('token'),
    isChange ? memberOf : needs(memberOf),
    text('kind', { words: ['user', 'environment'] }),
    list('scopes', { words: everyScope, ...(isChange ? byId : {}) }),
    text('currentAccountId', { pick: 'accounts' }),
  ];
}

function newToken(at: FormPlace): FormValues {
  const { accountId } = at;
  return {
    token: freeName(
      'new-member',
      at.rows(tokens).map(({ token }) => token),
    ),
    memberships: accountId === undefined ? undefined : [{ accountId, role: 'member' }],
    currentAccountId: accountId,
  };
}

/** A token that nobody would miss: better not the one that the page is used with. */
function isSpare({ token }: { readonly token: string }): boolean {
  return token !== 'demo-admin';
}

function changedToken(at: FormPlace): FormValues {
  const token = at.row('id', tokens, isSpare);
  const own = token === undefined ? [] : at.world.of(memberships).where('token', token.token);
  const kept = own.map(({ accountId, membershipId, role, permissions }) => ({
    accountId,
    membershipId,
    role,
    permissions,
  }));
  return { id: token?.token, scopes: token?.scopes, memberships: kept };
}

function environmentFields(isChange: boolean): readonly Field[] {
  const follows = isChange ? byId : { follows: ['appId'] };
  const first = isChange
    ? [id('id', 'environments'), text('name')]
    : [id('appId', 'apps'), needs(text('name', follows)), text('appEnvId')];
  const region = text('region', { pick: 'regions' });
  return [
    ...first,
    text('cliEnvName'),
    isChange ? region : needs(region),
    text('status', { words: ['running', 'stopped', 'updating'], ...follows }),
    flag('deployed'),
    text('gitBranch'),
    number('volumes'),
    flag('preventDestroy', follows),
    json('resources', follows),
    ...(isChange ? [] : [text('createdBy', { pick: 'tokens' })]),
  ];
}

function newEnvironment(at: FormPlace): FormValues {
  const app = at.row('appId', apps);
  const taken = at.rows(environments).filter(({ appId }) => appId === app?.appId);
  const region = at.rows(regions).find(({ up, supports }) => up && supports.functions) ?? at.rows(regions)[0];
  return {
    appId: app?.appId,
    name: freeName(
      'test',
      taken.map(({ name }) => name),
    ),
    region: region?.name,
    status: 'running',
  };
}

function changedEnvironment(at: FormPlace): FormValues {
  const environment: Environment | undefined = at.row('id', environments);
  if (environment === undefined) return {};
  const { appEnvId, status, preventDestroy, resources } = environment;
  return { id: appEnvId, status, preventDestroy, resources };
}

function metric(at: FormPlace): FormValues {
  const alert = at.chosen('appEnvId') === undefined ? at.rows(alerts)[0] : undefined;
  const appEnvId = alert?.appEnvId ?? at.row('appEnvId', environments)?.appEnvId;
  return { appEnvId, metric: alert?.metric ?? 'cpu_percent', value: 95 };
}

function tellingFields(): readonly Field[] {
  return [
    id('id', 'configurations'),
    number('failSteps', byId),
    flag('nextPhase'),
    text('setPhase', { words: PHASES }),
    flag('hold'),
    text('nextValidation', { words: ['pass', 'fail', 'cleanupUnverifiable'] }),
    text('standby/shape', { words: ['standard', 'seedBoost', 'sustained'] }),
    text('standby/reason'),
    flag('standby/caughtUp'),
    json('readiness'),
    text('engineUnavailableReason'),
    json('pendingCleanup'),
    json('validationCleanup'),
    number('applySeconds'),
    number('firstCopyBytes'),
  ];
}

function readingField(name: ReadingName): Field {
  const values = valuesOf(name);
  return values.includes('N') ? json(name) : text(name, { words: values });
}
