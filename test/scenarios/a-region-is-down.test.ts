import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kubeconfigFor } from '../../src/sandbox/control-plane/credentials.ts';
import { temporaryFolder } from '../../src/sandbox/data-folder.ts';
import { connect, eventually, kubectl, sharedKubernetes } from './support/kubernetes.ts';
import { startHostingService, type HostingService } from './support/hosting-service.ts';
import { aPost, startOperator, type OperatorProcess, type Post } from './support/operator-process.ts';
import { Protection } from './support/protection.ts';
import { blocksOf, missing, Shell, type Block } from './support/runbook.ts';
import { Tenant } from './support/stages/tenant.ts';

/*
 * The runbooks as they stand, typed by somebody who has the roles that they ask for. Nothing in them is replaced but the
 * namespace, since several people follow them at the same time.
 */

const roles = join(import.meta.dirname, '..', '..', 'deploy', 'kustomize', 'roles', 'rbac.yaml');
const api = connect(sharedKubernetes());
let folder: Awaited<ReturnType<typeof temporaryFolder>>;
let service: HostingService;
let post: Post;
let operator: OperatorProcess;
const people = new Map<string, Person>();

/** Somebody who holds roles in the namespace of a team whose database `orders-db` is protected. */
interface Person {
  readonly shell: Shell;
  readonly protection: Protection;
  readonly protectionMode: 'Cold' | 'Warm';
}

beforeAll(async () => {
  folder = await temporaryFolder('tests');
  [service, post] = await Promise.all([startHostingService(), aPost(sharedKubernetes(), api, 'cluster-wide')]);
  await kubectl(sharedKubernetes(), 'apply', '--server-side', '-f', roles);
  operator = await startOperator(post, '--enable-activation');
  await Promise.all([
    arrive('cold', 'Cold', ['apphosting-activator']),
    arrive('warm', 'Warm', ['apphosting-activator']),
    arrive('regretful', 'Cold', ['apphosting-activator', 'apphosting-resetter']),
  ]);
  await service.control('PATCH', '/regions/eu-west', { up: false });
});

afterAll(async () => {
  await operator.end();
  await service.end();
  await api.close();
  await folder.release();
});

async function arrive(name: string, protectionMode: 'Cold' | 'Warm', held: readonly string[]): Promise<void> {
  const tenant = await Tenant.arrive(api, service);
  await tenant.openAccount();
  const [protection, kubeconfig] = await Promise.all([
    Protection.enrolled(tenant, 'orders-db', protectionMode),
    kubeconfigOf(tenant.namespace, held),
  ]);
  const place = join(folder.dir, name);
  await mkdir(place);
  await writeFile(join(place, 'kubeconfig'), kubeconfig);
  people.set(name, { protection, protectionMode, shell: await Shell.open(place, join(place, 'kubeconfig')) });
}

/** A kubeconfig for somebody who may do in this namespace what these roles say, and nothing else. */
async function kubeconfigOf(namespace: string, held: readonly string[]): Promise<string> {
  const { url, ca } = sharedKubernetes();
  const accounts = `/api/v1/namespaces/${namespace}/serviceaccounts`;
  await api.post(accounts, { metadata: { name: 'person' } });
  for (const role of held) {
    await api.post(`/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}/rolebindings`, {
      metadata: { name: role },
      subjects: [{ kind: 'ServiceAccount', name: 'person', namespace }],
      roleRef: { kind: 'ClusterRole', apiGroup: 'rbac.authorization.k8s.io', name: role },
    });
  }
  const { body } = await api.post(`${accounts}/person/token`, { spec: { expirationSeconds: 3_600 } });
  return kubeconfigFor(url, ca, 'person', (body as { status: { token: string } }).status.token);
}

function personOf(name: string): Person {
  const person = people.get(name);
  if (person === undefined) throw new Error(`${name} did not arrive`);
  return person;
}

/**
 * Types a block in the namespace of the person; a page that shows a cold protection is followed for a warm one as well, whose
 * standby goes on restoring.
 */
async function follow(
  { shell, protection, protectionMode }: Person,
  { commands, shows }: Block,
  meanwhile?: (printed: () => string) => Promise<void>,
): Promise<string> {
  const here = commands.replaceAll(/(-n |--namespace |namespace: )team\b/g, `$1${protection.tenant.namespace}`);
  const expected =
    protectionMode === 'Cold' ? shows : shows.map((line) => line.replace(/\bCold(\s+us-east)\b/, 'Warm$1 restoring'));
  return shell.run(here, expected, meanwhile);
}

/** Follows a runbook up to and including the first block under a heading. */
async function followUpTo(person: Person, blocks: readonly Block[], heading: RegExp): Promise<void> {
  const last = blocks.findIndex((block) => heading.test(block.heading));
  for (const block of blocks.slice(0, last + 1)) await follow(person, block);
}

describe.concurrent('the page about a region that is down', () => {
  it.each(['cold', 'warm'])('recovers a %s environment when its commands are typed as they stand', async (who) => {
    const person = personOf(who);
    const { protection, shell } = person;
    const blocks = await blocksOf('a-region-is-down.md');
    const [watch, result] = blocks.slice(-2);
    if (watch === undefined || result === undefined) throw new Error('the page has no commands');

    await followUpTo(person, blocks, /^5\. Create it/);
    await eventually('the service has it', async () => (await protection.activations()) === 1);
    await protection.tell({ setPhase: 'promoting' });
    await follow(person, watch, async (printed) => {
      await eventually('it is promoting', async () => printed().includes('promoting'));
      await protection.tell({ setPhase: 'succeeded' });
    });
    const shown = JSON.parse(await follow(person, result)) as { targetEnvironmentId: string };

    const recovered = await service.control('GET', `/environments/${shown.targetEnvironmentId}`);
    expect(recovered).toMatchObject({ name: 'recovered', region: 'us-east' });
    expect(await protection.activations()).toBe(1);
    await expect(shell.run('kubectl create -f activation.yaml')).rejects.toThrow('AlreadyExists');
  });
});

describe.concurrent('the page about what comes after an activation', () => {
  it('gives up an activation that keeps failing, and then wipes the protection', async () => {
    const person = personOf('regretful');
    const { protection, shell } = person;
    const points = 'points orders-db --namespace team'.replace('team', protection.tenant.namespace);
    expect(await shell.run(`kubectl apphosting ${points}`)).toBe(await shell.run(`apphosting ${points}`));
    await followUpTo(person, await blocksOf('a-region-is-down.md'), /^5\. Create it/);
    await eventually('the service has it', async () => (await protection.activations()) === 1);
    await protection.keepFailing();
    await protection.tell({ hold: false });
    const seen = async () =>
      JSON.stringify(await protection.tenant.status('DisasterProtection', 'orders-db', 'activeOperation')) ?? '';
    await eventually('status shows it', async () => (await seen()).includes('"failedSteps":6'));

    // The service takes its time to clean up: here it is told that it has.
    const cleanUp = async (printed: () => string) => {
      await eventually('it cleans up', async () => printed().includes('CleanupPending'));
      await protection.tell({ setPhase: 'failed' });
    };
    for (const block of await blocksOf('after-an-activation.md')) {
      const discards = block.shows.some((line) => line.includes('CleanupPending'));
      await follow(person, block, discards ? cleanUp : undefined);
    }

    expect(await protection.activations()).toBe(1);
    expect(await protection.commits('activation.promoted')).toBe(0);
    expect(await protection.commits('configuration.wiped')).toBe(1);
  });
});

describe.concurrent('following a page', () => {
  it('fails when a command fails, and when what the page shows is not shown', async () => {
    const { shell } = personOf('cold');

    await expect(shell.run('kubectl get nosuchthings')).rejects.toThrow('it fails');
    await expect(shell.run('echo READY False', ['READY True'])).rejects.toThrow('it does not show');
    expect(missing(['a 1', 'b 2'], 'b 3\na   4')).toEqual(['b 2']);
  });
});
