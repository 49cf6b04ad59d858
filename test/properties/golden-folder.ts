/** The folder of the golden path, applied in any order, with what the service is told and makes. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { SeededEntropy } from '../../src/cli/in-memory/virtual-clock.ts';
import { commits, conditionOf, writesSince } from '../kinds/support/world.ts';
import type { Disturbance } from '../support/disturbed-wire.ts';
import { InProcess } from '../support/in-process.ts';
import { leaksOf } from './walk.ts';
import type { Lived } from './whole/whole-run.ts';

export interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec?: object;
  readonly stringData?: Readonly<Record<string, string>>;
}

const folder = join(import.meta.dirname, '../../deploy/samples-more/golden-path');

export const manifests = readdirSync(folder)
  .toSorted()
  .flatMap((file) => parseAllDocuments(readFileSync(join(folder, file), 'utf8')))
  .map((document) => document.toJS() as Manifest);

const resources = manifests.filter(({ kind }) => kind !== 'Secret');

function shuffled<Item>(items: readonly Item[], entropy: SeededEntropy): readonly Item[] {
  return items
    .map((item) => [entropy.fraction(), item] as const)
    .toSorted(([a], [b]) => a - b)
    .map(([, item]) => item);
}

export function apply(world: InProcess, { kind, metadata, spec = {}, stringData }: Manifest): void {
  if (stringData === undefined) world.apply(kind, metadata.name, spec);
  else world.secret(metadata.name, stringData);
}

/** The console of the service: an environment for each of our apps, some time after the app. */
export async function createEnvironments(world: InProcess, status: 'running' | 'stopped' = 'stopped'): Promise<void> {
  for (const name of ['shop', 'shop-db']) {
    const { externalId: appId } = (world.get('HostedApp', name)?.status ?? {}) as { externalId?: string };
    if (appId === undefined) continue;
    const appEnvId = `env_${name}`;
    await world
      .control('POST', '/environments', { appEnvId, appId, name: 'production', region: 'eu-west', status })
      .catch(() => undefined);
  }
}

export function notReady(world: InProcess): readonly string[] {
  return resources
    .map(({ kind, metadata }) => `${kind} ${metadata.name}: ${conditionOf(world, kind, metadata.name)}`)
    .filter((line) => !line.endsWith('True/InSync'));
}

type Disturb = (world: InProcess, entropy: SeededEntropy) => unknown;

/** The order of a seed, and the chance for all that follows. */
export function orderOf(seed: number): { readonly order: readonly Manifest[]; readonly entropy: SeededEntropy } {
  const entropy = new SeededEntropy(seed * 7_919);
  return { order: shuffled(manifests, entropy), entropy };
}

/** The whole folder in some order with pauses between; the world when all is at rest. */
export async function listed(seed: number, disturb?: Disturb): Promise<InProcess> {
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
export const calls = [
  'PATCH /app',
  'PATCH /member/env-access',
  'POST /app',
  'POST /app',
  'POST /app-env/alert',
  'POST /app-env/deploy-image',
  'POST /contact-point',
] as const;

export async function callsOf(world: InProcess): Promise<readonly string[]> {
  return (await writesSince(world, 0)).filter((line) => !line.includes('/alert/refresh')).toSorted();
}

/** What came to be in the service, and what was deployed to it. */
export async function madeIn(world: InProcess): Promise<readonly string[]> {
  return (await commits(world))
    .map(({ kind, detail }) =>
      [kind, detail['action'] ?? detail['name']].filter((word) => typeof word === 'string').join(' '),
    )
    .filter((line) => line.includes('.created') || line.endsWith('deploy-image'))
    .toSorted();
}

export const made = [
  'alert.created shop-db-memory',
  'app.created shop',
  'app.created shop-db',
  'contactPoint.created shop-team',
  'environment.created production',
  'environment.created production',
  'environment.deployed deploy-image',
];

/** The environments that somebody was allowed at any time. */
async function allowedIn(world: InProcess): Promise<readonly string[]> {
  const lists = (await commits(world)).flatMap(({ detail }) => detail['allowedAppEnvIds'] ?? []);
  return [...new Set(lists.map(String))];
}

/** Says where two lists differ. */
function differing(what: string, are: readonly string[], should: readonly string[]): readonly string[] {
  return are.join() === should.join() ? [] : [`${what}: ${are.join(', ')}; and not ${should.join(', ')}`];
}

/** The folder in the order of a seed: it comes to rest with no call repeated. */
export async function orderLived(seed: number): Promise<Lived> {
  const world = await listed(seed);
  const should = calls.map((call) => `${call} 200`).toSorted();
  const wrong = [...notReady(world), ...differing('calls', await callsOf(world), should)];
  return livedIn(world, wrong);
}

/** The same with six calls disturbed: nothing is lost or doubled. */
export async function disturbedOrderLived(seed: number): Promise<Lived> {
  const world = await listed(seed, (each, entropy) => {
    let left = 6;
    each.interference = () => {
      if (left === 0 || entropy.fraction() > 0.3) return undefined;
      left -= 1;
      return disturbances[Math.floor(entropy.fraction() * disturbances.length)];
    };
  });
  const wrong = [
    ...notReady(world),
    ...differing('made', await madeIn(world), made),
    ...differing('allowed', await allowedIn(world), ['env_shop']),
  ];
  return livedIn(world, wrong);
}

async function livedIn(world: InProcess, wrong: readonly string[]): Promise<Lived> {
  const leaks = await leaksOf(world, { planted: [] });
  return { wrong: [...wrong, ...leaks], happened: manifests.length, deaths: world.deaths };
}
