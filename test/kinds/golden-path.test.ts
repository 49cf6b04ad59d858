import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { InProcess } from '../support/in-process.ts';
import type { Disturbance } from '../support/disturbed-wire.ts';
import { SeededEntropy } from '../support/virtual-clock.ts';
import { commits, conditionOf, statusOf, writesSince } from './support/world.ts';

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
    const { appId } = (world.get('HostedApp', name)?.status ?? {}) as { appId?: string };
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

/** The whole folder in some order with pauses between; the world when all is at rest. */
async function walked(seed: number, disturb?: (world: InProcess, entropy: SeededEntropy) => void): Promise<InProcess> {
  const entropy = new SeededEntropy(seed * 7_919);
  const world = new InProcess({ seed });
  await world.start();
  disturb?.(world, entropy);
  for (const manifest of shuffled(manifests, entropy)) {
    apply(world, manifest);
    if (entropy.fraction() < 0.5) await world.run(Math.floor(entropy.fraction() * 8_000));
  }
  for (let waited = 0; waited < 30; waited += 1) {
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

describe('the golden path', () => {
  it.each(seeds)('comes to rest in any order, with no call repeated (order %i)', async (seed) => {
    const world = await walked(seed);

    expect(notReady(world)).toEqual([]);
    for (const { kind, metadata } of resources) statusOf(world, kind, metadata.name);
    // Refreshing the state of an alert only reads.
    const writes = (await writesSince(world, 0)).filter((line) => !line.includes('/alert/refresh')).toSorted();
    expect(writes).toEqual(
      [
        'PATCH /app 200',
        'PATCH /member/env-access 200',
        'POST /app 200',
        'POST /app 200',
        'POST /app-env/alert 200',
        'POST /app-env/deploy-image 200',
        'POST /contact-point 200',
      ].toSorted(),
    );
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
    const world = await walked(seed, (each, entropy) => {
      let left = 6;
      each.interference = () => {
        if (left === 0 || entropy.fraction() > 0.3) return undefined;
        left -= 1;
        return disturbances[Math.floor(entropy.fraction() * disturbances.length)];
      };
    });

    expect(notReady(world)).toEqual([]);
    const kinds = (await commits(world)).map(
      ({ kind, detail }) => `${kind} ${typeof detail['name'] === 'string' ? detail['name'] : ''}`,
    );
    const created = kinds.filter((line) => line.includes('.created')).toSorted();
    expect(created).toEqual([
      'alert.created shop-db-memory',
      'app.created shop',
      'app.created shop-db',
      'contactPoint.created shop-team',
      'environment.created production',
      'environment.created production',
    ]);
    expect((await commits(world)).filter(({ detail }) => detail['action'] === 'deploy-image')).toHaveLength(1);
    const lists = (await commits(world)).flatMap(({ detail }) => detail['allowedAppEnvIds'] ?? []);
    expect(new Set(lists.map(String))).toEqual(new Set(['env_shop']));
  });
});
