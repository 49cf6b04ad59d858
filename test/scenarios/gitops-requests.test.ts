import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { kinds } from '../../src/kinds/index.ts';
import { aProtectedWorld, anActivation, statusOf, type ProtectionStatus } from '../disaster/support.ts';
import { kubectl } from './support/kubernetes.ts';
import { aStage } from './support/stages/stage.ts';
import type { Manifest, Team } from './support/stages/team.ts';

/* Requests and waits, as GitOps tools and pipelines make them: on the real API server, with one operator without powers. */

const { plane, api, post, aTeam } = aStage();

/** A protection whose recovery works, and the account it belongs to. */
async function protectedTeam(): Promise<{ team: Team; protection: Manifest; pushOn: () => Promise<void> }> {
  const team = await aTeam();
  const manifests = await team.manifests('deploy/samples', 'deploy/samples-more');
  const wanted = manifests.filter(({ metadata }) =>
    ['hosting-credentials', 'default', 'orders-db'].includes(metadata.name),
  );
  for (const manifest of wanted) await team.apply(manifest);
  const protection = wanted.find(({ kind }) => kind === 'DisasterProtection');
  if (protection === undefined) throw new Error('there is no sample of a protection');
  // The service takes minutes for what it does; here it is told to go on.
  const pushOn = async () => {
    const id = (await team.get(protection))?.status?.['externalId'];
    if (typeof id === 'string') await team.control('PATCH', `/configurations/${id}`, { nextPhase: true });
  };
  await team.until('True/', [protection], pushOn);
  return { team, protection, pushOn };
}

/** What `kubectl wait` says has met a condition, one line each; it may take as long as it needs. */
async function waitedFor(team: Team, condition: string, ...names: readonly string[]): Promise<readonly string[]> {
  const flags = ['--kubeconfig', plane.kubeconfigPath, '-n', team.namespace, `--for=condition=${condition}`];
  const args = ['wait', ...flags, '--timeout=10m', ...names];
  const { stdout } = await promisify(execFile)(plane.binaries.kubectl, args);
  return stdout.match(/ condition met$/gmu) ?? [];
}

const inAnHour = () => new Date(Date.now() + 3_600_000).toISOString();

describe.concurrent('a request that is synced for ever', () => {
  it('does nothing more once it came to its end, and waits are over for it', async () => {
    const { team, protection, pushOn } = await protectedTeam();
    const { externalId: configurationId = '', generation = 1 } = ((await team.get(protection))?.status ?? {}) as {
      externalId?: string;
      generation?: number;
    };
    const samples = await team.manifests('deploy/samples-more');
    const sample = (kind: string, name: string, spec: object): Manifest => {
      const found = samples.find((one) => one.kind === kind);
      if (found === undefined) throw new Error(`there is no sample of ${kind}`);
      return { ...found, metadata: { name }, spec: { ...found.spec, ...spec } };
    };
    const pinned = { configurationId, configurationGeneration: generation, validUntil: inAnHour() };
    const { configurationGeneration: _one, ...activation } = pinned;
    const requests = (how: string) => ({
      trial: sample('RecoveryValidation', `trial-${how}`, {}),
      refused: [
        sample('RecoveryActivation', `activation-${how}`, activation),
        sample('ActivationDiscard', `discard-${how}`, pinned),
        sample('DisasterReset', `reset-${how}`, pinned),
      ],
    });
    const [server, client] = [requests('server'), requests('client')];
    const onServer = [server.trial, ...server.refused];
    const onClient = [client.trial, ...client.refused];
    const folder = await team.folder(onClient);
    for (const manifest of onServer) await team.apply(manifest);
    await kubectl(plane, '-n', team.namespace, 'apply', '-f', folder.path);
    await team.until('True/Succeeded', [server.trial, client.trial], pushOn);
    await team.until('False/ActivationDisabled', [...server.refused, ...client.refused]);
    const versions = async () =>
      Promise.all([...onServer, ...onClient].map(async (one) => (await team.get(one))?.metadata.resourceVersion));
    const [before, calls] = [await versions(), await team.writes()];

    for (let round = 0; round < 5; round += 1) {
      for (const manifest of onServer) await team.apply(manifest);
      const printed = await kubectl(plane, '-n', team.namespace, 'apply', '-f', folder.path);
      expect(printed.match(/ unchanged$/gmu)).toHaveLength(4);
    }

    expect(await versions()).toEqual(before);
    expect(await team.writes()).toEqual(calls);
    expect(calls.filter((line) => line.endsWith('/validate'))).toHaveLength(2);
    expect(calls.filter((line) => /\/(?:activate|discard-activation|reset)$/u.test(line))).toEqual([]);
    expect(await waitedFor(team, 'Ready', 'recoveryvalidation', '--all')).toHaveLength(2);
    expect(await waitedFor(team, 'Stalled', 'ractiv,adiscard,dreset', '--all')).toHaveLength(6);
    await folder.remove();
  });
});

/** What the engine writes at the end of each request that needs powers, found in a world of its own. */
async function finalStatuses(): Promise<ReadonlyMap<string, object>> {
  const world = await aProtectedWorld();
  const protection = () => statusOf<ProtectionStatus>(world, 'DisasterProtection', 'orders');
  const pinned = () => ({
    configurationId: protection().externalId,
    configurationGeneration: protection().configurationGeneration,
    validUntil: new Date(world.clock.wall() + 3_600_000).toISOString(),
  });
  const status = (kind: string) => statusOf<object>(world, kind, 'now');
  await world.control('PATCH', `/configurations/${protection().externalId}`, { failSteps: 1_000 });
  world.apply('RecoveryActivation', 'failing', anActivation(world));
  await world.run(1_500_000);
  const { externalId: operationId } = statusOf<{ externalId: string }>(world, 'RecoveryActivation', 'failing');
  world.apply('ActivationDiscard', 'now', {
    protectionRef: { name: 'orders' },
    operationId,
    acknowledgements: ['DiscardsRecoveredData'],
    ...pinned(),
  });
  await world.run(600_000);
  const other = await aProtectedWorld();
  other.apply('RecoveryActivation', 'now', anActivation(other));
  await other.run(1_500_000);
  world.apply('DisasterReset', 'now', {
    scope: 'Environment',
    environmentRef: { externalId: 'env_db_prod' },
    confirmation: 'production',
    acknowledgements: ['DeletesProtectionAndLeftovers'],
    ...pinned(),
  });
  await world.run(900_000);
  return new Map([
    ['RecoveryActivation', statusOf<object>(other, 'RecoveryActivation', 'now')],
    ['ActivationDiscard', status('ActivationDiscard')],
    ['DisasterReset', status('DisasterReset')],
  ]);
}

describe.concurrent('kubectl wait --for=condition=Ready', () => {
  it('ends for every kind that runs without powers', async () => {
    const { team, pushOn } = await protectedTeam();
    const samples = await team.manifests('deploy/samples', 'deploy/samples-more');
    const powerful = new Set(['RecoveryActivation', 'ActivationDiscard', 'DisasterReset']);
    const name = team.namespace;
    const wanted = samples
      .filter(({ kind }) => !powerful.has(kind))
      .map((sample) => (sample.kind === 'ClusterHostingAccount' ? { ...sample, metadata: { name } } : sample));
    const stringData = { baseUrl: team.simulator.url, token: 'demo-admin' };
    const metadata = { name: 'shared-hosting-credentials' };
    await api.post(`/api/v1/namespaces/${post().namespace}/secrets`, { metadata, stringData });
    for (const sample of wanted) await team.apply(sample);
    const objects = wanted.filter(({ kind }) => kind !== 'Secret');

    const names = objects.map(({ kind, metadata: { name: one } }) => `${kind.toLowerCase()}/${one}`);
    const waited = waitedFor(team, 'Ready', ...names);
    await team.until('True/', objects, pushOn);

    expect(await waited).toHaveLength(objects.length);
    expect(new Set(objects.map(({ kind }) => kind)).size).toBe(kinds.length - powerful.size);
    await team.delete({ kind: 'ClusterHostingAccount', metadata: { name } });
  });

  it('ends for the three that need powers when they came to their end', async () => {
    const [team, statuses] = [await aTeam(), await finalStatuses()];
    const samples = await team.manifests('deploy/samples-more');
    const wanted = samples.filter(({ kind }) => statuses.has(kind));
    // The operator keeps off what is paused, so that what is written here stays.
    for (const sample of wanted)
      await team.apply({
        ...sample,
        metadata: { ...sample.metadata, annotations: { 'apphosting.dev/paused': 'true' } },
      });
    await team.until('Unknown/Paused', wanted);

    for (const sample of wanted) {
      const { status } = await api.patch(`${team.path(sample)}/status`, { status: statuses.get(sample.kind) });
      expect(status).toBe(200);
    }

    expect(await waitedFor(team, 'Ready', '--all', 'ractiv,adiscard,dreset')).toHaveLength(3);
    expect(wanted).toHaveLength(3);
  });
});
