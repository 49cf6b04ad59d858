import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { connect, eventually, sharedKubernetes } from '../../scenarios/support/kubernetes.ts';
import { aStage } from '../../scenarios/support/stages/stage.ts';
import { Team, type Manifest } from '../../scenarios/support/stages/team.ts';
import { everyState, forEach, putInState } from './every-state.ts';
import { Flux, readyOf } from './flux.ts';
import { accountOf, alertTo, contactPoint } from './wanted.ts';

/* The real kustomize-controller on the real API server, with our operator and a service for each team. */

const { flux: had } = inject('engines');
const plane = sharedKubernetes();
const api = connect(plane);
let flux: Flux;

beforeAll(async () => {
  if ('dir' in had) flux = await Flux.start(plane, api, had.dir);
});

afterAll(async () => {
  await flux?.stop();
  await api.close();
});

const isReady = (one: Parameters<typeof readyOf>[0]) => readyOf(one).startsWith('True/');

describe.skipIf('missing' in had)('Flux', () => {
  it('reads the health of every kind in every state as the table says', async () => {
    const team = await Team.arrive(api);
    const states = everyState(await team.manifests('deploy/samples', 'deploy/samples-more'));
    await forEach(states, async (state) => {
      await team.apply(state.manifest);
      await putInState(api, team, state);
    });
    const byVerdict = Map.groupBy(states, ({ row }) => row.kstatus);
    const check = ({ apiVersion, kind, metadata }: Manifest) => ({
      apiVersion,
      kind,
      name: metadata.name,
      namespace: team.namespace,
    });
    const only = (given: readonly Manifest[], timeout: string) => ({
      wait: false,
      timeout,
      healthChecks: given.map(check),
    });
    const told = new Map<string, string>();
    const asks = [...byVerdict].flatMap(([verdict, alike]) =>
      (verdict === 'Current' ? [alike] : alike.map((one) => [one])).map((group, at) => ({
        verdict,
        group,
        name: `${verdict.toLowerCase()}-${at}`,
      })),
    );
    // What does not come to an end takes the whole time that it is given.
    const ask = async ({ verdict, group, name }: (typeof asks)[number]) => {
      const manifests = group.map(({ manifest }) => manifest);
      await flux.kustomization(name, team.namespace, [], only(manifests, verdict === 'Failed' ? '60s' : '5s'));
      await flux.until(name, 'it has said something', (one) => /^(True|False)\//u.test(readyOf(one)), 300_000);
      told.set(`${verdict} ${group[0]?.row.name}`, readyOf(await flux.get(name)));
      await flux.delete(name);
    };
    await forEach(asks, ask);

    const patterns = {
      Current: /^True\//u,
      Failed: /^False\/HealthCheckFailed: .*status: 'Failed'/u,
      InProgress: /^False\/HealthCheckFailed: .*status: 'InProgress'/u,
      Terminating: /^False\/HealthCheckFailed: .*status: 'Terminating'/u,
    };
    const wrong = [...told].filter(([name, said]) => !patterns[name.split(' ')[0] as keyof typeof patterns].test(said));
    expect(wrong).toEqual([]);
  });

  describe.concurrent('with the operator', () => {
    const { aTeam } = aStage();

    it('is ready when everything is, and a contact point that is replaced in one revision goes', async () => {
      const team = await aTeam();
      const [account, first, second] = [accountOf(team), contactPoint('first'), contactPoint('second')];
      const { namespace: name } = team;
      await flux.kustomization(name, name, [...account, first, alertTo('first')]);
      await flux.until(name, 'it is ready', isReady);
      await flux.commit(name, [...account, second, alertTo('second')]);
      await eventually('the first one goes', async () => (await team.get(first)) === undefined, 240_000);
      await flux.until(name, 'it is ready again', isReady);

      expect((await team.left()).length).toBe(3);
    });

    it('prunes in every order until nothing is left', async () => {
      const team = await aTeam();
      const { namespace: name } = team;
      const all = [...accountOf(team), contactPoint('first'), alertTo('first')];
      await flux.kustomization(name, name, all);
      await flux.until(name, 'it is ready', isReady);
      for (const left of [all.filter(({ kind }) => kind !== 'ContactPoint'), all.slice(0, 1), all.slice(0, 0)]) {
        await flux.commit(name, left);
        await flux.reconcile(name);
      }
      await eventually('everything goes', async () => (await team.left()).length === 0, 240_000);

      expect((await team.commits()).filter((kind) => kind.endsWith('.deleted')).toSorted()).toEqual([
        'alert.deleted',
        'contactPoint.deleted',
      ]);
    });

    it('puts drift back without flapping', async () => {
      const team = await aTeam();
      const { namespace: name } = team;
      await flux.kustomization(name, name, [...accountOf(team), contactPoint('first'), alertTo('first')]);
      await flux.until(name, 'it is ready', isReady);
      const changed = { ...alertTo('first'), spec: { ...alertTo('first').spec, threshold: 50 } };
      await team.apply(changed);
      await flux.reconcile(name);
      await team.until('True/', [changed]);
      const before = await team.get(changed);
      const calls = (await team.writes()).length;
      for (let time = 0; time < 5; time += 1) await flux.reconcile(name);
      const after = await team.get(changed);

      expect(before?.spec?.['threshold']).toBe(85);
      expect(after?.metadata).toEqual(before?.metadata);
      expect((await team.writes()).length).toBe(calls);
      expect(isReady(await flux.get(name))).toBe(true);
    });

    it.each([
      ['reconciled again', {}],
      ['with force', { force: true }],
    ])('carries a one-shot out once, however often it is replayed: %s', async (_how, change) => {
      const team = await aTeam();
      const { namespace: name } = team;
      const samples = await team.manifests('deploy/samples-more');
      const pick = (kind: string) => samples.filter((one) => one.kind === kind);
      const [environment, protection] = [pick('AppEnvironment'), pick('DisasterProtection')];
      const own = (one: Manifest) => ({ ...one, spec: { ...one.spec } });
      await flux.kustomization(name, name, [...accountOf(team), ...environment, ...protection.map(own)], change);
      const pushOn = async () => {
        for (const one of protection) {
          const id = (await team.get(one))?.status?.['externalId'];
          if (typeof id === 'string') await team.control('PATCH', `/configurations/${id}`, { nextPhase: true });
        }
      };
      await team.until('True/', protection, pushOn);
      const all = [...accountOf(team), ...environment, ...protection, ...pick('RecoveryValidation')];
      await flux.commit(name, all);
      await team.until('True/', pick('RecoveryValidation'), pushOn);
      const asked = async () => (await team.writes()).filter((line) => line.includes('validate')).length;
      const once = await asked();
      for (let time = 0; time < 3; time += 1) await flux.reconcile(name);
      await flux.patch(name, { spec: { suspend: true } });
      await flux.patch(name, { spec: { suspend: false } });
      await flux.commit(name, all);
      await flux.reconcile(name);

      expect(once).toBe(1);
      expect(await asked()).toBe(1);
      expect(
        await team.says({
          kind: 'RecoveryValidation',
          metadata: { name: pick('RecoveryValidation')[0]?.metadata.name ?? '' },
        }),
      ).toBe('True/Succeeded');
    });

    it('lets everything go when the Kustomization is deleted', async () => {
      const team = await aTeam();
      const { namespace: name } = team;
      await flux.kustomization(name, name, [...accountOf(team), contactPoint('first'), alertTo('first')]);
      await flux.until(name, 'it is ready', isReady);
      await flux.delete(name);
      await eventually('it is gone', async () => (await flux.get(name)) === undefined, 240_000);

      expect(await team.left()).toEqual([]);
    });
  });
});

if ('missing' in had) it(`could not be had: ${had.missing}`, (context) => context.skip());
