/**
 * The runs that the pages of the commands show, taken from one world: the commands as they are, the operator, a cluster in memory
 * and the simulator, on one virtual clock. The same sources give the same bytes.
 *
 * `npm run runs` writes them into the pages; a test compares.
 */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { mock } from 'node:test';
import { parse, parseAllDocuments } from 'yaml';
import { activate } from '../../src/cli/activate.ts';
import type { OpenCluster } from '../../src/cli/cluster/open.ts';
import { catalog, inventory } from '../../src/cli/day-two/inventory.ts';
import { steering, ways, type Steering } from '../../src/cli/day-two/steer.ts';
import { definitions, serviceAccounts } from '../../src/cli/doctor/checks.ts';
import { doctor } from '../../src/cli/doctor/doctor.ts';
import { importAccount } from '../../src/cli/import/command.ts';
import type { Command } from '../../src/cli/frame.ts';
import { resourceOf } from '../../src/engine/kind/contract/define.ts';
import { plan } from '../../src/cli/plan/command.ts';
import { points } from '../../src/cli/points.ts';
import { commandReferences } from '../../src/cli/reference/commands.ts';
import { status } from '../../src/cli/status/status.ts';
import { why } from '../../src/cli/status/why.ts';
import { operatorNamespace, wordOf } from '../../src/config.ts';
import { withPart } from '../../src/crd/text.ts';
import { appEnvironment } from '../../src/kinds/app-environment/app-environment.ts';
import { leaseResource } from '../../src/kube/lease.ts';
import { listen } from '../../src/simulator/listen.ts';
import { InProcess, namespace } from '../support/in-process.ts';
import { clusterOf } from './support/in-memory.ts';

const root = join(import.meta.dirname, '..', '..');

const commands: Readonly<Record<string, Command>> = {
  // Without a cluster, as in a pull request.
  plan: (args, outside) => plan(args, { ...outside, cluster: undefined }),
  import: (args, outside) => importAccount(args, { ...outside, cluster: undefined }),
  status,
  why,
  doctor,
  inventory,
  catalog,
  points,
  activate,
  ...Object.fromEntries((Object.keys(ways) as Steering[]).map((name) => [name, steering(name)])),
};

/** What a person types on a page, in the order of the day: the first word of each line is the page that it stands on. */
type Type = (line: string) => Promise<void>;

/** Goes through a day of this world with the commands, and gives the lines of each page. */
async function runsOfPages(): Promise<ReadonlyMap<string, string>> {
  const pages = new Map<string, string>();
  const folder = mkdtempSync(join(tmpdir(), 'apphosting-runs-'));
  const world = new InProcess({ world: 'demo', powers: { activation: true, accountReset: false } });
  const service = await listen(() => world.service, { host: '127.0.0.1', port: 0 });
  mock.timers.enable({ apis: ['Date'], now: world.clock.wall() });
  const inWords = { [service.url]: 'http://127.0.0.1:8088', [`${folder}/`]: '' };
  const api = Object.assign(clusterOf(world).api, {
    serverDate: () => ({ dateMs: world.clock.wall(), seenAt: world.clock.monotonic() }),
    isAllowed: () => Promise.resolve(true),
  });
  const cluster: OpenCluster = { ...clusterOf(world), api, server: 'https://127.0.0.1:6443' };
  const type: Type = async (line) => {
    mock.timers.setTime(world.clock.wall());
    const [name = '', ...words] = line.split(/ +(?:\\\n +)?/);
    const isPath = (word: string) => /^(samples|prod|token)(\.json)?$/.test(word);
    const args = words.map((word) =>
      isPath(word) ? join(folder, word) : word.replace('http://127.0.0.1:8088', service.url),
    );
    let printed = '';
    const speak = (text: string) => void (printed += text);
    const speaks = { out: speak, err: speak, isTerminal: false };
    const time = { nowMs: () => world.clock.wall(), pause: (ms: number) => world.run(ms) };
    await commands[name]?.(args, { speaks, cluster, time });
    for (const [real, shown] of Object.entries(inWords)) printed = printed.replaceAll(real, shown);
    const before = pages.get(name);
    pages.set(name, `${before === undefined ? '' : `${before}\n`}$ apphosting ${line}\n${printed}`);
  };
  try {
    cpSync(join(root, 'deploy', 'samples'), join(folder, 'samples'), { recursive: true });
    writeFileSync(join(folder, 'token'), 'demo-admin');
    await day(world, { type, folder, url: service.url });
    return pages;
  } finally {
    mock.timers.reset();
    world.kill();
    await service.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Around {
  readonly type: Type;
  readonly folder: string;
  readonly url: string;
}

async function day(world: InProcess, { type, folder, url }: Around): Promise<void> {
  const account = '--account-id acc_demo --base-url http://127.0.0.1:8088 --allow-insecure-loopback';
  await type(`plan samples --token-file token \\\n    ${account}`);
  await clickTogether(world);
  await type(`import prod --token-file token --snapshot prod.json \\\n    ${account}`);
  install(world);
  await world.start();
  world.secret('hosting-credentials', { baseUrl: url, token: 'demo-admin' });
  apply(world, join(folder, 'prod'));
  await lead(world);
  await world.run(200_000);
  world.apply('DisasterProtection', 'orders-db', {
    environmentRef: { name: 'orders-db-prod' },
    destinationRegion: 'us-east',
    snapshotIntervalSeconds: 3_600,
    target: { environmentName: 'recovered', appName: 'orders-db-recovered', createNewApp: true },
  });
  await world.run(900_000);
  await lead(world);
  await type(`status -n ${namespace}`);
  await type('doctor');
  await type('inventory --account default --allow-insecure-loopback');
  await type('catalog --account default --allow-insecure-loopback');
  await type('points orders-db --allow-insecure-loopback');
  await type('activate orders-db --point latest --confirm orders-db/production --allow-insecure-loopback');
  await type('reconcile MetricAlert/web-cpu --wait');
  await type('pause AppEnvironment/web-prod');
  await type('resume AppEnvironment/web-prod --wait');
  await type('redeploy web-prod --wait');
  await type('stop web-staging --wait');
  await type('start web-staging --dry-run');
  await type('start web-staging --wait');
  await type('rollback web-staging --wait');
  ownByFlux(world, 'web-prod');
  await type('stop web-prod');
  world.secret('hosting-credentials', { baseUrl: url, token: 'expired' });
  await world.run(720_000);
  await lead(world);
  await type('why MetricAlert/web-cpu');
  await type('doctor -o short');
}

/** What people made in the service by hand: contact points of two types, an alert, and two deployments. */
async function clickTogether(world: InProcess): Promise<void> {
  const made = async (name: string, type: string, config: object) => {
    const { body } = await world.request('POST', '/contact-point', { accountId: 'acc_demo', name, type, config });
    return (body as { readonly contactPoint: { readonly contactPointId: string } }).contactPoint.contactPointId;
  };
  const contactPointIds = [
    await made('On call', 'email', { addresses: ['on-call@example.com'] }),
    await made('desk', 'webhook', { url: 'https://desk.example.com/made-up' }),
  ];
  const condition = { metric: 'cpu_percent', operator: 'gt', threshold: 80, duration: '5m' };
  await world.request('POST', '/app-env/alert', {
    appEnvId: 'env_web_prod',
    name: 'web cpu',
    ...condition,
    contactPointIds,
  });
  for (const version of ['1', '2']) {
    await world.request('POST', '/app-env/deploy-image', {
      appEnvId: 'env_web_staging',
      image: `example.com/web:${version}`,
    });
    world.service.advance(60_000);
  }
}

function ownByFlux(world: InProcess, name: string): void {
  const known = world.get('AppEnvironment', name);
  if (known === undefined) throw new Error(`there is no AppEnvironment ${name}`);
  const labels = { 'kustomize.toolkit.fluxcd.io/name': 'shop' };
  const changed = { ...known, metadata: { ...known.metadata, labels } };
  world.cluster.update(resourceOf(appEnvironment), namespace, name, changed, 'object');
}

/** What an installation has beside the operator: definitions, its ServiceAccount, its key. */
function install(world: InProcess): void {
  for (const file of readdirSync(join(root, 'crds')))
    for (const document of parseAllDocuments(readFileSync(join(root, 'crds', file), 'utf8')))
      if (document.contents !== null) world.cluster.create(definitions, undefined, document.toJS());
  const metadata = { name: 'apphosting-operator', namespace: operatorNamespace };
  world.cluster.create(serviceAccounts, operatorNamespace, { apiVersion: 'v1', kind: 'ServiceAccount', metadata });
  world.secret('apphosting-operator-key', { key: 'made up for this run' }, operatorNamespace);
}

/** The lease of the operator, renewed just now. */
async function lead(world: InProcess): Promise<void> {
  const name = 'apphosting-operator';
  const renewTime = new Date(world.clock.wall()).toISOString().replace('Z', '000Z');
  const spec = { holderIdentity: 'apphosting-operator-7c9d6b5f4-x2x8k', leaseDurationSeconds: 15, renewTime };
  const known = world.cluster.get(leaseResource, operatorNamespace, name);
  const body = {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: known?.metadata ?? { name, namespace: operatorNamespace },
    spec,
  };
  if (known === undefined) world.cluster.create(leaseResource, operatorNamespace, body);
  else world.cluster.update(leaseResource, operatorNamespace, name, body, 'object');
}

/** `kubectl apply -k`: the resources of a folder, and the Secrets of contact points filled in. */
function apply(world: InProcess, folder: string): void {
  for (const path of readdirSync(folder, { recursive: true, encoding: 'utf8' }).toSorted()) {
    if (!path.endsWith('.yaml') || path.endsWith('hosting-credentials.yaml')) continue;
    const { kind, metadata, spec, stringData } = parse(readFileSync(join(folder, path), 'utf8')) as {
      readonly kind: string;
      readonly metadata: { readonly name: string };
      readonly spec: object;
      readonly stringData: Readonly<Record<string, string>>;
    };
    if (kind === 'Secret') world.secret(metadata.name, stringData);
    else if (kind !== 'Kustomization') world.apply(kind, metadata.name, spec);
  }
}

/** The pages of the commands with these runs in them; `read` gives a page as it is. */
export async function pagesWithRuns(read: (path: string) => string): Promise<ReadonlyMap<string, string>> {
  const runs = await runsOfPages();
  const pages = commandReferences.map(({ command }): [string, string] => {
    const path = `docs/cli/${wordOf(command)}.md`;
    const run = runs.get(wordOf(command));
    if (run === undefined) throw new Error(`there is no run of ${wordOf(command)}`);
    return [path, withPart(read(path), 'run', `\`\`\`console\n${run.trimEnd()}\n\`\`\``, path)];
  });
  return new Map(pages);
}

if (import.meta.main) {
  const read = (path: string) => readFileSync(join(root, path), 'utf8');
  for (const [path, text] of await pagesWithRuns(read)) writeFileSync(join(root, path), text);
}
