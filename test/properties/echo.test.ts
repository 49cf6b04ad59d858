import { describe, expect, it } from 'vitest';
import type { InProcess } from '../support/in-process.ts';
import { lives, type Life } from './lives.ts';
import { arranged, bringIn, everythingWritten, readiness } from './walk.ts';

const key = 'planted-Bystander-k3y';
const certificate =
  '-----BEGIN PRIVATE KEY-----\nplantedMIIEvQIBADANBgkqhk\nplantedASCBKcwggSjAgEAAoI=\n-----END PRIVATE KEY-----\n';
const quoted = 'planted "quoted" + s3cret/words\n';

const statuses = [400, 403, 409, 500, 422, 404, 200];

const credential = 'demo-admin';
/** What goes out with the credential for dangerous calls, which is the secret of such a life. */
const isDangerous = /disaster-readiness\/(activate|discard-activation|reset)$/;

/** The secrets that requests of a world carry: those of the life, and of others beside it. */
function secretsOf(life: Pick<Life, 'planted'>): readonly string[] {
  return [...life.planted, key, certificate, quoted];
}

/** A text with every sign that is no letter and no digit written in another way. */
function written(text: string, sign: (code: number) => string): string {
  return text.replaceAll(/[^A-Za-z0-9]/gu, (one) => sign(one.codePointAt(0) ?? 0));
}

const two = (code: number): string => code.toString(16).padStart(2, '0');

/** The forms in which a service may repeat what it was sent. */
function told(secret: string): readonly string[] {
  const value = secret.trim();
  const bytes = Buffer.from(value);
  return [
    secret,
    value,
    value.replaceAll(/\s+/g, ' '),
    JSON.stringify(secret),
    JSON.stringify(value).replaceAll('/', String.raw`\/`),
    written(value, (code) => `\\u00${two(code)}`),
    written(value, (code) => `\\x${two(code)}`),
    written(value, (code) => `&#${code};`),
    written(value, (code) => `%${two(code)}`),
    encodeURIComponent(secret),
    bytes.toString('hex'),
    bytes.toString('base64'),
    bytes.toString('base64url'),
    Buffer.from(`user:${value}`).toString('base64'),
    value.slice(0, -3),
    value.split('').toReversed().join(''),
  ];
}

/** What must not be seen of a secret: nothing of what was told, nor its beginning where it was cut. */
function traces(secret: string): readonly string[] {
  const forms = told(secret).flatMap((form) => [form, JSON.stringify(form).slice(1, -1)]);
  return forms.map((form) => form.slice(0, Math.max(9, Math.ceil(form.length / 2))));
}

/** A world in which others pass secrets on as well. */
async function withBystanders(life: Pick<Life, 'arrange' | 'options'>): Promise<InProcess> {
  const world = await arranged(life);
  world.secret('beside', { key, certificate, quoted });
  world.apply('ContactPoint', 'beside', {
    incident: { integrationKey: { valueFrom: { secretKeyRef: { name: 'beside', key: 'key' } } } },
  });
  const from = (name: string) => ({ valueFrom: { secretKeyRef: { name: 'beside', key: name } } });
  world.apply('AppEnvironment', 'beside', {
    externalId: 'env_web_prod',
    deploy: { image: 'registry.example.com/beside:1' },
    env: [
      { name: 'CERTIFICATE', ...from('certificate') },
      { name: 'QUOTED', ...from('quoted') },
    ],
  });
  await world.run(20_000);
  return world;
}

/** The life with everything that can happen to it, at rest or not. */
async function live(world: InProcess, life: Life): Promise<void> {
  bringIn(world, life);
  await world.run(90_000);
  if (life.edited !== undefined) world.apply(life.kind, life.name, life.edited);
  await world.run(90_000);
  world.delete(life.kind, life.name);
  await world.run(90_000);
}

/** Every text of an answer that is neither an id nor a time, with something more to say. */
function embroidered(value: unknown, more: string, name = ''): unknown {
  if (typeof value === 'string') return /(?:Ids?|At|Until|Cursor)$/.test(name) ? value : `${value} ${more}`;
  if (Array.isArray(value)) return value.map((item) => embroidered(item, more, name));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([field, inner]) => [field, embroidered(inner, more, field)]));
}

/** What of the secrets was written anywhere; of the credential, which every request carries, only as it is. */
async function leaks(world: InProcess, life: Pick<Life, 'planted'>): Promise<readonly string[]> {
  const everything = await everythingWritten(world);
  return [...secretsOf(life).flatMap(traces), credential]
    .filter((trace) => everything.includes(trace))
    .map(
      (trace) => `${trace} in …${everything.slice(everything.indexOf(trace) - 200, everything.indexOf(trace) + 50)}`,
    );
}

/** What the answer to a request may repeat: the credential as it is, and every secret of its body in any form. */
function sayings(life: Pick<Life, 'planted'>, path: string, body: string | undefined): readonly string[] {
  const [token = credential] = isDangerous.test(path) ? life.planted : [];
  const carried = secretsOf(life).filter((secret) => body?.includes(JSON.stringify(secret).slice(1, -1)) === true);
  return [`Bearer ${token}`, ...carried.flatMap(told)];
}

describe.each(lives)('$kind', (life) => {
  it('never leaks what an error repeats of the request', async () => {
    const world = await withBystanders(life);
    let count = 0;
    world.interference = ({ body, path }) => {
      count += 1;
      const status = statuses[count % statuses.length] ?? 500;
      const pad = 'x'.repeat((count * 37) % 190);
      const all = path.includes('showSecrets') ? secretsOf(life).flatMap(told) : sayings(life, path, body);
      const error = `${pad} ${all[count % all.length]} ${all[(count * 7) % all.length]}`;
      const said = count % 2 === 0 ? { error, details: error } : { success: false, error: { message: error } };
      return count % 3 === 0 ? undefined : { insteadOf: { status, text: JSON.stringify(said) } };
    };

    await live(world, life);

    expect(await leaks(world, life)).toEqual([]);
  });

  it('never leaks what any text of an answer repeats of the request', async () => {
    const world = await withBystanders(life);
    let count = 0;
    world.interference = ({ body, path }) => ({
      retold: (text) => {
        count += 1;
        const all = sayings(life, path, body);
        const more = count % 2 === 0 ? all.join(' ') : (all[count % all.length] ?? '');
        const told = embroidered(JSON.parse(text), more) as object;
        return JSON.stringify({
          ...told,
          postInstallNote: `${'x'.repeat((count * 411) % 1_990)} ${more}`,
          reason: more,
        });
      },
    });

    await live(world, life);

    expect(await leaks(world, life)).toEqual([]);
  });
});

describe('a secret that is a word like any other', () => {
  it('keeps nothing from being recognised, compared and understood', async () => {
    const world = await arranged({ arrange: async () => undefined });
    const words = { name: 'orders-api', region: 'eu-west', status: 'running', metric: 'cpu_percent', type: 'webhook' };
    world.secret('words', words);
    const env = Object.keys(words).map((key) => ({
      name: key.toUpperCase(),
      valueFrom: { secretKeyRef: { name: 'words', key } },
    }));
    world.apply('AppEnvironment', 'web', {
      externalId: 'env_web_prod',
      deploy: { image: 'r/x:1', onBind: 'Deploy' },
      env,
    });
    await world.run(20_000);

    world.apply('HostedApp', 'orders-api', { image: { reference: 'r/orders:1' }, port: 80 });
    world.apply('ContactPoint', 'orders-api', { email: { addresses: ['a@example.com'] } });
    world.apply('MetricAlert', 'orders-api', {
      environmentRef: { externalId: 'env_web_prod' },
      metric: 'cpu_percent',
      operator: 'GreaterThan',
      description: 'orders-api is running in eu-west',
      contactPointRefs: [{ name: 'orders-api' }],
    });
    await world.run(300_000);

    const ready = [
      'AppEnvironment web',
      'HostedApp orders-api',
      'ContactPoint orders-api',
      'MetricAlert orders-api',
    ].map((object) => {
      const [kind = '', name = ''] = object.split(' ');
      return readiness(world, { kind, name });
    });
    expect(ready).toEqual(Array.from({ length: 4 }, () => 'True/InSync@1'));
    expect(world.sent.filter(({ method }) => method === 'PATCH')).toEqual([]);
  });
});
