import { describe, expect, it } from 'vitest';
import type { InProcess } from '../support/in-process.ts';
import { lives, type Life } from './lives.ts';
import { arranged, bringIn, everythingWritten, readiness } from './walk.ts';
import { drawnFrom } from '../support/draw.ts';

const key = 'planted-Bystander-k3y';
const certificate =
  '-----BEGIN PRIVATE KEY-----\nplantedMIIEvQIBADANBgkqhk\nplantedASCBKcwggSjAgEAAoI=\n-----END PRIVATE KEY-----\n';
const quoted = 'planted "quoted" + s3cret/words\n';

const statuses = [400, 403, 409, 500, 422, 404, 200];

/** Every secret of a world: those of the life, of its account, and of others beside it. */
function secretsOf(life: Pick<Life, 'planted'>): readonly string[] {
  return [...life.planted, 'demo-admin', key, certificate, quoted];
}

/** The forms in which the service tells a secret. */
function told(secret: string): readonly string[] {
  const value = secret.trim();
  return [
    secret,
    value,
    value.replaceAll(/\s+/g, ' '),
    value.replaceAll('\n', '\r\n'),
    JSON.stringify(secret),
    encodeURIComponent(secret),
    Buffer.from(secret).toString('base64'),
    Buffer.from(value).toString('base64url'),
    Buffer.from(`user:${value}`).toString('base64'),
  ];
}

/** What must not be seen of a secret: nothing of what was told, nor a line of it, nor its beginning where it was cut. */
function traces(secret: string): readonly string[] {
  const lines = secret.split('\n').filter((line) => line.length > 5 && !line.startsWith('-----'));
  const json = JSON.stringify(secret.trim()).slice(1, -1);
  const base64 = Buffer.from(secret.trim()).toString('base64').slice(0, -4);
  return [...lines, json, JSON.stringify(json).slice(1, -1), encodeURIComponent(secret.trim()), base64].flatMap(
    (form) => [form, form.slice(0, Math.max(9, Math.ceil(form.length / 2)))],
  );
}

/** A world in which others pass secrets on as well. */
async function withBystanders(life: Pick<Life, 'arrange' | 'options'>): Promise<InProcess> {
  const world = await arranged(life);
  world.secret('beside', { key, certificate, quoted });
  world.apply('ContactPoint', 'beside', { incident: { integrationKeyFrom: { name: 'beside', key: 'key' } } });
  const from = (name: string) => ({ valueFrom: { secretKeyRef: { name: 'beside', key: name } } });
  world.apply('AppEnvironment', 'beside', {
    appEnvId: 'env_web_prod',
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

/** What of the secrets was written anywhere. */
async function leaks(world: InProcess, life: Pick<Life, 'planted'>): Promise<readonly string[]> {
  const written = await everythingWritten(world);
  return secretsOf(life)
    .flatMap(traces)
    .filter((trace) => written.includes(trace))
    .map((trace) => `${trace} in …${written.slice(written.indexOf(trace) - 200, written.indexOf(trace) + 50)}`);
}

describe.each(drawnFrom(lives))('$kind', (life) => {
  it('never leaks what an error says of any secret', async () => {
    const world = await withBystanders(life);
    const sayings = secretsOf(life).flatMap(told);
    let count = 0;
    world.interference = () => {
      count += 1;
      const status = statuses[count % statuses.length] ?? 500;
      const pad = 'x'.repeat((count * 37) % 190);
      const error = `${pad} ${sayings[count % sayings.length]} ${sayings[(count * 7) % sayings.length]}`;
      const body = count % 2 === 0 ? { error, details: error } : { success: false, error: { message: error } };
      return count % 3 === 0 ? undefined : { insteadOf: { status, text: JSON.stringify(body) } };
    };

    await live(world, life);

    expect(await leaks(world, life)).toEqual([]);
  });

  it('never leaks what any text of an answer says of any secret', async () => {
    const world = await withBystanders(life);
    const sayings = secretsOf(life).flatMap(told);
    let count = 0;
    world.interference = () => ({
      retold: (text) => {
        count += 1;
        const more = count % 2 === 0 ? sayings.join(' ') : (sayings[count % sayings.length] ?? '');
        const body = embroidered(JSON.parse(text), more) as object;
        return JSON.stringify({
          ...body,
          postInstallNote: `${'x'.repeat((count * 411) % 1_990)} ${more}`,
          reason: more,
        });
      },
    });

    await live(world, life);

    expect(await leaks(world, life)).toEqual([]);
  });
});

describe('a process that takes over', () => {
  it('never leaks a secret of an object that it has not looked at yet', async () => {
    const life = { arrange: async () => undefined, planted: [] };
    const world = await withBystanders(life);
    const sayings = secretsOf(life).flatMap(told);
    world.kill();
    let count = 0;
    world.interference = () => {
      count += 1;
      return { insteadOf: { status: 400, text: JSON.stringify({ error: sayings[count % sayings.length] }) } };
    };

    await world.crash();
    await world.run(120_000);

    expect(count).toBeGreaterThan(10);
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
      appEnvId: 'env_web_prod',
      deploy: { image: 'r/x:1', onBind: 'Deploy' },
      env,
    });
    await world.run(20_000);

    world.apply('HostedApp', 'orders-api', { image: { reference: 'r/orders:1' }, port: 80 });
    world.apply('ContactPoint', 'orders-api', { email: { addresses: ['a@example.com'] } });
    world.apply('MetricAlert', 'orders-api', {
      appEnvId: 'env_web_prod',
      metric: 'cpu_percent',
      operator: 'gt',
      description: 'orders-api is running in eu-west',
      contactPoints: [{ contactPointRef: { name: 'orders-api' } }],
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
