import { describe, expect, it } from 'vitest';

import { forms } from '../../src/simulator/page/forms/fill.ts';
import { configFields, contactPointTypes } from '../../src/simulator/service/contact-points/contact-point.ts';
import type { functionFields } from '../../src/simulator/service/environments/environment.ts';
import { box, type Box, contactPoint, type Json } from './box.ts';

/*
 * Each setting that an update may contain, changed alone, cleared alone and sent as null: all others stay. Secrets that are omitted, empty or
 * masked stay too. The settings are those in the form of the update, so that a new one is tried by itself, unless it is an object or has values
 * of its own.
 */

/** A setting before and after its change, what else changes with it, and what comes of other values that an update may send. */
type Values = readonly [before: Json, after: Json, also?: Json, others?: readonly (readonly Json[])[]];

/** An object with every setting that it can have. */
interface Thing {
  /** The update, as `METHOD /path`. */
  readonly by: string;
  /** The request that makes the object, and what this request needs besides the settings. Without it, an update sets them. */
  readonly madeBy?: string;
  readonly first?: Json;
  /** The fields that tell an update which object it is for, from the answer of the request that makes it. */
  readonly named: (body: Json) => Json;
  /** The fields of the update that are no settings, and the settings that this object cannot have. */
  readonly others: readonly string[];
  readonly lacks?: readonly string[];
  readonly values?: Readonly<Record<string, Values>>;
  readonly read: (on: Box, named: Json) => Promise<Json>;
}

const fieldsOf = (name: string) => forms.find(({ method, path }) => `${method} ${path}` === name)?.fields ?? [];

const byKind = { text: ['one', 'two'], number: [1, 2], flag: [true, false], list: ['one', 'two'], json: [] } as const;

function valuesOf({ by, others, lacks = [], values = {} }: Thing): Readonly<Record<string, Values>> {
  const settings = fieldsOf(by).filter(({ name }) => !others.includes(name) && !lacks.includes(name));
  const pairs = settings.flatMap(({ name, kind, words }): [string, Values][] => {
    const own = Object.entries(values).filter(([path]) => path === name || path.startsWith(`${name}/`));
    const [before, after] = words ?? byKind[kind];
    return own.length > 0 ? own : [[name, kind === 'list' ? [[before], [after]] : [before, after]]];
  });
  return Object.fromEntries(pairs);
}

/** Sets values at their paths, such as `config/url`. */
function withAll(from: Json, values: Json): Json {
  return Object.entries(values).reduce((all: Json, [path, value]) => {
    const [name = '', ...inside] = path.split('/');
    return { ...all, [name]: inside.length === 0 ? value : withAll(all[name] ?? {}, { [inside.join('/')]: value }) };
  }, from);
}

function send(on: Box, by: string, body: Json) {
  const [method, path = ''] = by.split(' ');
  return method === 'PATCH' ? on.patch(path, body) : on.post(path, body);
}

async function made(thing: Thing) {
  const { by, madeBy, first, named: nameIn } = thing;
  const on = box();
  await on.patch('/app', { appId: 'app_web', useImage: false });
  for (const name of ['One', 'Two']) await contactPoint(on, name);
  for (const credentialId of ['cred_a', 'cred_b']) {
    await on.control('POST', '/credentials', { credentialId, accountId: 'acc_demo', kind: 'registry' });
  }
  const before = Object.entries(valuesOf(thing)).map(([path, [value]]) => [path, value]);
  const all = withAll({}, Object.fromEntries(before));
  const taken = fieldsOf(madeBy ?? '').map(({ name }) => name);
  const creation = madeBy === undefined ? undefined : await send(on, madeBy, { ...first, ...all });
  expect(creation?.status ?? 200, creation?.text).toBe(200);
  const named = nameIn(creation?.body);
  const late = Object.entries(all).filter(([name]) => !taken.includes(name));
  const set = await send(on, by, { ...named, ...Object.fromEntries(late) });
  expect(set.status, set.text).toBe(200);
  return { on, all, named, shown: await thing.read(on, named) };
}

// Two contact points, whose ids are the same in every run.
const ids = box();
const [one, two] = [await contactPoint(ids, 'One'), await contactPoint(ids, 'Two')];

const shownBy = (path: string, more: object) => async (on: Box, named: Json) =>
  (await on.get(`${path}?${new URLSearchParams({ ...named, ...more }).toString()}`)).body;

const app = (lacks: readonly string[], dockerPreset: string): Thing => ({
  by: 'PATCH /app',
  madeBy: 'POST /app',
  first: { accountId: 'acc_demo', name: 'x', dockerPreset },
  named: ({ appId }) => ({ appId }),
  others: ['appId', 'applyImmediately'],
  lacks,
  values: {
    dockerPreset: ['NEXT_JS', 'REMIX', { dockerPresetVersion: undefined }],
    healthCheckPath: ['/one', '/two', {}, [['']]],
    healthCheckHeaders: [{ a: '1' }, { b: '2' }, {}, [[{}]]],
    imagePullAccountSecretId: ['cred_a', 'cred_b', {}, [['']]],
    buildPullAccountSecretId: ['cred_a', 'cred_b', {}, [['']]],
    'jobConfig/command': ['one', 'two'],
    'jobConfig/shell': [true, false],
    'jobConfig/timeoutSeconds': [1, 0],
    'jobConfig/ttlSecondsAfterFinished': [1, 0],
    'jobConfig/backoffLimit': [1, 0],
    'jobConfig/concurrency': ['Allow', 'Forbid'],
  },
  read: async (on, { appId }) => {
    const { apps } = (await on.control('GET', '/world')).body.collections;
    return { ...apps.find((row: Json) => row.appId === appId), ...(await on.get(`/app?appId=${appId}`)).body };
  },
});

const ofConfig: Readonly<Record<string, readonly [before: Json, after: Json]>> = {
  webhookUrl: ['https://chat.example.com/one', 'https://chat.example.com/two'],
  url: ['https://one.example.com', 'http://two.example.com'],
  httpMethod: ['POST', 'PUT'],
  addresses: [['a@example.com'], ['b@example.com', 'c@example.com']],
  mentionUsers: ['one', ['two']],
};

const point = (type: keyof typeof configFields): Thing => ({
  by: 'PATCH /contact-point',
  madeBy: 'POST /contact-point',
  first: { accountId: 'acc_demo', type },
  named: ({ contactPoint: { contactPointId } }) => ({ contactPointId }),
  others: ['contactPointId'],
  values: Object.fromEntries(
    Object.entries(configFields[type]).map(([name, reads]): [string, Values] => {
      const [before, after] = ofConfig[name] ?? ['one', 'two'];
      const emptied = typeof reads === 'function' ? undefined : before;
      const others = typeof before === 'string' ? Object.entries({ '': emptied, '****': before }) : [];
      return [`config/${name}`, [before, after, {}, others]];
    }),
  ),
  read: shownBy('/contact-point', { showSecrets: 'true' }),
});

/** An environment whose startup override and other settings are saved by a deployment. */
const deployed = (action: string, named: Json, others: readonly string[], values: Thing['values'] = {}): Thing => ({
  by: `POST /app-env/${action}`,
  named: () => named,
  others: ['appEnvId', 'envName', 'clearStartupConfig', 'replaceStartupConfig', ...others],
  values: {
    'startupConfig/command': ['one', 'two', { 'startupConfig/shell': true }],
    'startupConfig/shell': [false, true],
    'startupConfig/args': [['one'], ['']],
    ...values,
  },
  read: async (on, { appEnvId }) => {
    const { startupConfig, functionConfig, envVars } = (await on.control('GET', `/environments/${appEnvId}`)).body;
    return { startupConfig, functionConfig, envVars };
  },
});

type FunctionSetting = keyof ReturnType<typeof functionFields>;
const member = { accountId: 'acc_demo', membershipId: 'mem_demo' };

const things: Readonly<Record<string, Thing>> = {
  'an app with a Dockerfile in its repository': app(['customDockerfileContent', 'jobConfig'], 'NEXT_JS'),
  'an app with its own Dockerfile': app(['dockerfilePath', 'jobConfig'], 'NEXT_JS'),
  'a job': app(['customDockerfileContent', 'dockerPreset'], 'JOB'),
  ...Object.fromEntries(contactPointTypes.map((type) => [`a contact point (${type})`, point(type)])),
  'an alert': {
    by: 'PATCH /alert',
    madeBy: 'POST /app-env/alert',
    first: { appEnvId: 'env_web_prod' },
    named: ({ alert: { alertId } }) => ({ alertId }),
    others: ['alertId'],
    values: {
      description: ['one', ''],
      threshold: [1, 0],
      contactPointIds: [[one], [two], { contactPoints: [{ contactPointId: two, name: 'Two', type: 'email' }] }],
    },
    read: shownBy('/alert', {}),
  },
  'the access of a member': {
    by: 'PATCH /member/env-access',
    named: () => member,
    others: Object.keys(member),
    values: { allowedAppEnvIds: [['env_web_prod'], ['env_db_prod'], {}, [[[], []]]] },
    read: shownBy('/member/env-access', {}),
  },
  'a Function': deployed('deploy-image', { appEnvId: 'env_fn_prod', image: 'x' }, ['image'], {
    'envVars/A': ['one', ''],
    'envVars/B': ['one', 'two'],
    'functionConfig/containerConcurrency': [1, 0],
    'functionConfig/timeoutSeconds': [1, 2],
    'functionConfig/idleTimeoutSeconds': [1, 0],
    'functionConfig/responseStartTimeoutSeconds': [1, 0],
    'functionConfig/minScale': [1, 0],
    'functionConfig/maxScale': [1, 2],
  } satisfies Record<`envVars/${string}`, Values> & Record<`functionConfig/${FunctionSetting}`, Values>),
  'a build': deployed('build', { appEnvId: 'env_web_prod' }, ['forceNewBuild', 'isRebuild', 'fromContentId']),
};

const rows = Object.entries(things).flatMap(([name, thing]) =>
  Object.entries(valuesOf(thing)).map(([field, values]) => ({ name, thing, field, values })),
);

describe('an update', () => {
  it.each(rows)('of $name changes $field and leaves the rest as it was', async ({ thing, field, values }) => {
    const [, after, also = {}] = values;
    const { on, all, named, shown } = await made(thing);

    const { status } = await send(on, thing.by, withAll(named, { [field]: after }));

    expect([status, shown]).toMatchObject([200, all]);
    expect(await thing.read(on, named)).toEqual(withAll(shown, { [field]: after, ...also }));
  });

  const others = rows.flatMap(({ values, ...row }) =>
    (values[3] ?? []).map(([sent, shows]) => ({ ...row, sent, shows })),
  );
  it.each(others)(
    'of $name with "$sent" as $field leaves the rest as it was',
    async ({ thing, field, sent, shows }) => {
      const { on, named, shown } = await made(thing);

      await send(on, thing.by, withAll(named, { [field]: sent }));

      expect(await thing.read(on, named)).toEqual(withAll(shown, { [field]: shows }));
    },
  );

  it.each(rows)('of $name with null as $field is refused, or clears only that', async ({ thing, field }) => {
    const { on, named, shown } = await made(thing);

    const { status } = await send(on, thing.by, withAll(named, { [field]: null }));

    expect(await thing.read(on, named)).toEqual(status === 200 ? withAll(shown, { [field]: undefined }) : shown);
  });

  it('is tried with every setting of every update of the interface', () => {
    const updates = forms.filter(({ method, path }) => method === 'PATCH' && !path.startsWith('/_sim'));
    const untried = updates.flatMap(({ method, path, fields }) => {
      const tries = rows.filter(({ thing }) => thing.by === `${method} ${path}`);
      const known = tries.flatMap(({ thing, field, values: [before, after] }) =>
        before === after ? [] : [field.split('/')[0], ...thing.others],
      );
      return fields.flatMap(({ name }) => (known.includes(name) ? [] : [`${path}: ${name}`]));
    });

    expect(untried).toEqual([]);
  });
});
