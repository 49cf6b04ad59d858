import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { InProcess } from '../support/in-process.ts';
import type { Disturbance } from '../support/disturbed-wire.ts';
import { SeededEntropy } from '../../src/cli/in-memory/virtual-clock.ts';
import { commits, conditionOf, statusOf, writesSince } from '../kinds/support/world.ts';

interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec?: object;
  readonly stringData?: Readonly<Record<string, string>>;
}

const folder = join(import.meta.dirname, '../../deploy/samples-more/golden-path');

const manifests = readdirSync(folder)
  .toSorted()
  .flatMap((file) => parseAllDocuments(readFileSync(join(folder, file), 'utf8')))
  .map((document) => document.toJS() as Manifest);

const resources = manifests.filter(({ kind }) => kind !== 'Secret');

const seeds = Array.from({ length: 24 }, (_, index) => index + 1);

function shuffled<Item>(items: readonly Item[], entropy: SeededEntropy): readonly Item[] {
  return items
    .map((item) => [entropy.fraction(), item] as const)
    .toSorted(([a], [b]) => a - b)
    .map(([, item]) => item);
}

function apply(world: InProcess, { kind, metadata, spec = {}, stringData }: Manifest): void {
  if (stringData === undefined) world.apply(kind, metadata.name, spec);
  else world.secret(metadata.name, stringData);
}

/** The console of the service: an environment for each of our apps, some time after the app. */
async function createEnvironments(world: InProcess, status: 'running' | 'stopped' = 'stopped'): Promise<void> {
  for (const name of ['shop', 'shop-db']) {
    const { externalId: appId } = (world.get('HostedApp', name)?.status ?? {}) as { externalId?: string };
    if (appId === undefined) continue;
    const appEnvId = `env_${name}`;
    await world
      .control('POST', '/environments', { appEnvId, appId, name: 'production', region: 'eu-west', status })
      .catch(() => undefined);
  }
}

function notReady(world: InProcess): readonly string[] {
  return resources
    .map(({ kind, metadata }) => `${kind} ${metadata.name}: ${conditionOf(world, kind, metadata.name)}`)
    .filter((line) => !line.endsWith('True/InSync'));
}

type Disturb = (world: InProcess, entropy: SeededEntropy) => unknown;

/** The order of a seed, and the chance for all that follows. */
function orderOf(seed: number): { readonly order: readonly Manifest[]; readonly entropy: SeededEntropy } {
  const entropy = new SeededEntropy(seed * 7_919);
  return { order: shuffled(manifests, entropy), entropy };
}

/** The whole folder in some order with pauses between; the world when all is at rest. */
async function listed(seed: number, disturb?: Disturb): Promise<InProcess> {
  const { order, entropy } = orderOf(seed);
  const world = new InProcess({ seed });
  await world.start();
  await disturb?.(world, entropy);
  for (const manifest of order) {
    apply(world, manifest);
    if (entropy.fraction() < 0.5) await world.run(Math.floor(entropy.fraction() * 8_000));
  }
  for (let waited = 0; waited < 80; waited += 1) {
    await world.run(30_000);
    await createEnvironments(world);
    if (waited > 4 && notReady(world).length === 0) break;
  }
  await world.run(150_000);
  return world;
}

const disturbances: readonly Disturbance[] = [
  'refuseConnection',
  'loseBefore',
  'loseAnswer',
  'hangBefore',
  'hangAfter',
  { insteadOf: { status: 502, text: '' } },
  { insteadOf: { status: 429, headers: { 'retry-after': '5' } } },
  { afterwards: { status: 502, text: '' } },
];

/** Every call that the folder leads to; refreshing the state of an alert only reads. */
const calls = [
  'PATCH /app',
  'PATCH /member/env-access',
  'POST /app',
  'POST /app',
  'POST /app-env/alert',
  'POST /app-env/deploy-image',
  'POST /contact-point',
] as const;

async function callsOf(world: InProcess): Promise<readonly string[]> {
  return (await writesSince(world, 0)).filter((line) => !line.includes('/alert/refresh')).toSorted();
}

/** What came to be in the service, and what was deployed to it. */
async function madeIn(world: InProcess): Promise<readonly string[]> {
  return (await commits(world))
    .map(({ kind, detail }) =>
      [kind, detail['action'] ?? detail['name']].filter((word) => typeof word === 'string').join(' '),
    )
    .filter((line) => line.includes('.created') || line.endsWith('deploy-image'))
    .toSorted();
}

const made = [
  'alert.created shop-db-memory',
  'app.created shop',
  'app.created shop-db',
  'contactPoint.created shop-team',
  'environment.created production',
  'environment.created production',
  'environment.deployed deploy-image',
];

/** Nothing but what the folder names was allowed, at any time. */
async function expectNoMoreAccess(world: InProcess): Promise<void> {
  const lists = (await commits(world)).flatMap(({ detail }) => detail['allowedAppEnvIds'] ?? []);
  expect(new Set(lists.map(String))).toEqual(new Set(['env_shop']));
}

describe('the orders in which the golden path is tried', () => {
  it('have any of two manifests before the other', () => {
    const orders = seeds.map((seed) => orderOf(seed).order);
    const pairs = manifests.flatMap((one) => manifests.filter((other) => other !== one).map((other) => [one, other]));

    const untried = pairs.filter(
      ([one, other]) => !orders.some((order) => order.indexOf(one as Manifest) < order.indexOf(other as Manifest)),
    );
    expect(untried.map(([one, other]) => `${one?.kind} ${other?.kind}`)).toEqual([]);
  });
});

describe('the golden path', () => {
  it.each([
    [
      'allows three requests in a second',
      (world: InProcess) => world.control('PATCH', '/readings', { 'rate.limit': 3 }),
    ],
    ['shows lists a minute late', (world: InProcess) => world.control('PATCH', '/readings', { 'lists.lagMs': 60_000 })],
    [
      'takes four seconds for each answer',
      (world: InProcess) => world.control('POST', '/faults', { match: { count: 100_000 }, effect: { delayMs: 4_000 } }),
    ],
  ])('comes to rest with no call repeated while the service %s', async (_how, disturb) => {
    const world = await listed(7, disturb);

    expect(notReady(world)).toEqual([]);
    expect((await callsOf(world)).filter((line) => !line.endsWith(' 429'))).toEqual(
      calls.map((call) => `${call} 200`).toSorted(),
    );
    expect(await madeIn(world)).toEqual(made);
  });

  it.each(seeds)('comes to rest in any order, with no call repeated (order %i)', async (seed) => {
    const world = await listed(seed);

    expect(notReady(world)).toEqual([]);
    for (const { kind, metadata } of resources) statusOf(world, kind, metadata.name);
    expect(await callsOf(world)).toEqual(calls.map((call) => `${call} 200`).toSorted());
  });

  it('deploys to an environment that the console has started with the image of the app', async () => {
    const world = new InProcess();
    await world.start();
    for (const manifest of manifests) apply(world, manifest);
    await world.run(30_000);
    await createEnvironments(world, 'running');
    await world.run(150_000);

    expect(notReady(world)).toEqual([]);
    expect((await commits(world)).filter(({ detail }) => detail['action'] === 'deploy-image')).toHaveLength(1);
  });

  it.each(seeds)('comes to rest with calls disturbed, with nothing lost or doubled (order %i)', async (seed) => {
    const world = await listed(seed, (each, entropy) => {
      let left = 6;
      each.interference = () => {
        if (left === 0 || entropy.fraction() > 0.3) return undefined;
        left -= 1;
        return disturbances[Math.floor(entropy.fraction() * disturbances.length)];
      };
    });

    expect(notReady(world)).toEqual([]);
    expect(await madeIn(world)).toEqual(made);
    await expectNoMoreAccess(world);
  });
});
