import { describe, expect, it } from 'vitest';

import { authenticate } from '../../../src/simulator/service/accounts/access.ts';
import { areas } from '../../../src/simulator/service/areas.ts';
import type { Route } from '../../../src/simulator/service/area.ts';
import type { BodyFields } from '../../../src/simulator/http/fields.ts';
import { contactPointTypes } from '../../../src/simulator/service/contact-points/contact-point.ts';
import { type fill, forms } from '../../../src/simulator/page/forms/fill.ts';
import type { Form } from '../../../src/simulator/page/forms/form.ts';
import { alert, box, type Box, contactPoint, type Json, type Seen } from '../box.ts';

const token = 'demo-admin';

/** The name of a route or a form: `METHOD /path`. */
const nameOf = ({ method, path }: Pick<Route, 'method' | 'path'>) => `${method} ${path}`;

async function filled(on: Box, name: string, given: object = {}): Promise<ReturnType<typeof fill>> {
  const [method, path] = name.split(' ');
  const { status, body } = await on.control('POST', '/forms', { method, path, token, given });
  if (status !== 200) throw new Error(`${name}: ${JSON.stringify(body)}`);
  return body;
}

function send(on: Box, method: string, { path, query, body }: ReturnType<typeof fill>): Promise<Seen> {
  const asked = new URLSearchParams(query).toString();
  return on.raw({
    method,
    url: `${path.startsWith('/_sim/') ? '' : '/api/public/v1'}${path}${asked === '' ? '' : `?${asked}`}`,
    headers: { host: 'localhost', authorization: token, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

/** Sends a request just as the page has filled it in. */
async function sendFilled(on: Box, name: string, given: object = {}): Promise<Seen> {
  const answer = await send(on, name.split(' ')[0] ?? '', await filled(on, name, given));
  if (answer.status !== 200) throw new Error(`${name}: ${answer.status} ${answer.text}`);
  return answer;
}

async function protect(on: Box): Promise<void> {
  const { body } = await sendFilled(on, 'POST /disaster-readiness/configure');
  expect(body.items).toMatchObject([{ success: true }]);
  on.advance(60_000);
}

async function failSixTimes(on: Box): Promise<void> {
  await protect(on);
  const [{ id }] = (await on.control('GET', '/view')).body.rows.configurations;
  await sendFilled(on, 'POST /disaster-readiness/activate');
  await on.control('PATCH', `/configurations/${id}`, { setPhase: 'promoting', failSteps: 6 });
  on.advance(880_000);
}

async function deployTwice(on: Box): Promise<void> {
  await sendFilled(on, 'POST /app-env/deploy-image');
  on.advance(10_000);
}

async function buildFromSource(on: Box): Promise<void> {
  await on.patch('/app', { appId: 'app_web', useImage: false });
}

async function injectFault(on: Box): Promise<void> {
  await on.control('POST', '/faults', { match: { path: '/nowhere' }, effect: { hang: true } });
}

/** What a request needs that is not in the demo world. */
const before: Readonly<Record<string, (on: Box) => Promise<unknown>>> = {
  'POST /app-env/build': buildFromSource,
  'POST /app-env/rollback': deployTwice,
  'GET /contact-point': contactPoint,
  'PATCH /contact-point': contactPoint,
  'DELETE /contact-point': contactPoint,
  'PATCH /_sim/contact-points/:id': contactPoint,
  'POST /app-env/alert': contactPoint,
  'GET /alert': alert,
  'PATCH /alert': alert,
  'DELETE /alert': alert,
  'POST /alert/toggle': alert,
  'POST /alert/refresh': alert,
  'GET /disaster-readiness/points': protect,
  'POST /disaster-readiness/validate': protect,
  'POST /disaster-readiness/activate': protect,
  'POST /disaster-readiness/discard-activation': failSixTimes,
  'PATCH /_sim/configurations/:id': protect,
  'POST /_sim/configurations/:id/points': protect,
  'DELETE /_sim/faults/:id': injectFault,
};

/** What the page itself follows, and nobody fills in. */
const ownRoutes = ['GET /_sim/view', 'GET /_sim/forms', 'POST /_sim/forms', 'GET /_sim/events'];

async function routesOf(on: Box): Promise<readonly string[]> {
  const { body } = await on.control('GET', '/');
  return [...body.publicRoutes, ...body.routes].map(nameOf).filter((name) => !ownRoutes.includes(name));
}

const formCalled = (name: string) => forms.find((form) => nameOf(form) === name) as Form;

describe('the forms of the page', () => {
  it('are those of every route of the simulator, and of no other', async () => {
    const routes = await routesOf(box());

    expect(forms.map(nameOf).toSorted()).toEqual(routes.toSorted());
  });

  it.each(forms.map((form) => [nameOf(form)]))('fills in what %s accepts', async (name) => {
    const on = box();
    await before[name]?.(on);

    const request = await filled(on, name);
    const { status, text } = await send(on, formCalled(name).method, request);

    expect(request.lacks).toEqual([]);
    expect(status, `${JSON.stringify(request)} ${text}`).toBe(200);
    expect(text).not.toContain('"success":false');
  });

  it.each(areas.flatMap(({ routes }) => routes).map((route) => [nameOf(route), route] as const))(
    'asks for every field that %s reads',
    async (name, route) => {
      const on = box();
      await before[name]?.(on);
      const request = await filled(on, name, wholly[name]);
      const names = formCalled(name).fields.map((field) => field.name);
      const isAsked = (field: string) => names.some((each) => isWithin(each, field) || isWithin(field, each));

      const read = readBy(on, route, request);

      const unasked = [...read].filter((field) => !isAsked(field) && refusedAlways !== field);
      expect(unasked, 'area.ts reads it, but its list of what the route takes does not have it').toEqual([]);
      const unread = names.filter((field) => !read.has(field) && !takenUnread.includes(field));
      expect(unread, 'area.ts does not read it, but its list of what the route takes, or the form, has it').toEqual([]);
    },
  );

  it.each(
    areas
      .flatMap(({ routes }) => routes)
      .flatMap((route) => (route.takes === undefined ? [] : [[nameOf(route), route.takes] as const])),
  )('asks for what the interface names for %s, and for nothing else', (name, takes) => {
    const names = new Set(formCalled(name).fields.map((field) => field.name.split('/')[0]));

    const untaken = [...names].filter((field) => !takes.includes(field ?? ''));
    expect(untaken, 'the form asks for it, but the route in area.ts does not take it').toEqual([]);
    const unasked = takes.filter((field) => !names.has(field));
    expect(unasked, 'the route in area.ts takes it, but the form does not ask for it').toEqual([]);
  });

  it('fills in what belongs to the choice that was made', async () => {
    const on = box();
    await contactPoint(on);
    for (const type of contactPointTypes) await sendFilled(on, 'POST /contact-point', { type });
    for (const dockerPreset of ['JOB', 'FUNCTION', 'POSTGRESQL', 'EXPRESS']) {
      await sendFilled(on, 'POST /app', { dockerPreset });
    }
    await sendFilled(on, 'POST /solutions', { solutionSlug: 'sandbox-agent' });
    const latency = await filled(on, 'POST /app-env/alert', { metric: 'ingress_p95_latency' });
    const database = await filled(on, 'POST /disaster-readiness/configure', {
      'items/0/sourceAppEnvId': 'env_db_prod',
    });
    const other = await filled(on, 'GET /apps', { accountId: 'acc_other' });

    expect(latency.body).toMatchObject({ metric: 'ingress_p95_latency', threshold: 2 });
    expect((database.body as Json).items[0].target).toMatchObject({
      createNewApp: true,
      appName: 'orders-db-recovered',
    });
    expect(other.query).toEqual({ accountId: 'acc_other' });
  });

  it('sets up, activates and gives up a warm protection of a database, each just as filled in', async () => {
    const on = box();
    const chosen = { 'items/0/sourceAppEnvId': 'env_db_prod', 'common/mode': 'warm' };
    const { body } = await sendFilled(on, 'POST /disaster-readiness/configure', chosen);
    on.advance(600_000);
    await sendFilled(on, 'POST /disaster-readiness/activate');

    expect(body.items).toMatchObject([{ success: true }]);
    expect(on.ledger()).toContain('activation.accepted');
  });

  it('names what is missing where there is nothing to pick', async () => {
    const on = box();
    const withoutPoint = await filled(on, 'POST /app-env/alert');
    const withoutAlert = await filled(on, 'POST /alert/toggle');
    await on.control('POST', '/reset', { world: 'empty' });
    const withoutAccount = await filled(on, 'POST /app');

    expect(withoutPoint.lacks).toEqual(['contactPoints']);
    expect(withoutAlert.lacks).toEqual(['alerts']);
    expect(withoutAccount.lacks).toEqual(['accounts']);
  });

  it('builds nothing that is deployed as an image', async () => {
    const request = await filled(box(), 'POST /app-env/build');

    expect(request.lacks).toEqual(['environments']);
    expect(request.body).toEqual({});
  });

  it('refuses a form that there is not', async () => {
    const on = box();

    expect((await on.control('POST', '/forms', { method: 'PUT', path: '/app' })).status).toBe(404);
  });
});

/** Values that let a handler look into objects that are not sent otherwise. */
const wholly: Readonly<Record<string, object>> = {
  'POST /app-env/deploy-image': { 'startupConfig/command': 'npm start' },
  'POST /app-env/build': { 'startupConfig/command': 'npm start' },
  'POST /solutions': {
    solutionSlug: 'sandbox-agent',
    'inputs/agentImage': 'svc/sandbox-agent:1',
    'inputs/llmProviderKeyId': 'cred_1',
    'inputs/agentPrimaryModel': 'large-1',
    'inputs/agentSecondaryModel': 'small-1',
  },
  'POST /disaster-readiness/configure': { 'common/mode': 'warm' },
};

/** Fields that POST /app takes for the first environment of a managed service; the simulator reads them only for such a preset. */
const takenUnread = ['containers', 'disk', 'withPersistence', 'databaseSettings', 'startupConfig'];

/** Only looked for so that it can be refused. */
const refusedAlways = 'startupConfig';

const isWithin = (inner: string, outer: string) => inner === outer || inner.startsWith(`${outer}/`);

/** The fields that a handler reads of a request; what an item of configure overrides is asked for once, for all of them. */
function readBy(on: Box, route: Route, request: ReturnType<typeof fill>): ReadonlySet<string> {
  const read = new Set<string>();
  const { store } = on.simulator;
  const sent: object = request.body ?? {};
  const call = {
    caller: authenticate(store, token),
    query: noting(request.query, '', read),
    body: noting(sent, '', read) as BodyFields,
  };
  store.transact(on.simulator.now(), undefined, (world) => route.handle({ world, ...call }));
  const own = [undefined, 'sourceAppEnvId', 'requestId', 'expectedGeneration', 'target'];
  const asked = (field: string) => {
    const [list, n, name, ...inside] = field.split('/');
    return list === 'items' && n === '0' && !own.includes(name) ? ['common', name, ...inside].join('/') : field;
  };
  return new Set([...read].map(asked));
}

function noting<T extends object>(value: T, under: string, read: Set<string>): T {
  const at = (name: string | symbol) => `${under}${String(name)}`;
  return new Proxy(value, {
    get: (from, name) => {
      const inside: unknown = Reflect.get(from, name);
      if (typeof name === 'symbol' || (Array.isArray(from) && !/^\d+$/.test(name))) return inside;
      read.add(at(name));
      return typeof inside === 'object' && inside !== null ? noting(inside, `${at(name)}/`, read) : inside;
    },
    getOwnPropertyDescriptor: (from, name) => {
      if (typeof name === 'string') read.add(at(name));
      return Reflect.getOwnPropertyDescriptor(from, name);
    },
  });
}
