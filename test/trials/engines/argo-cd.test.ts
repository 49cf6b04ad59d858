import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { argoOf } from '../../deploy/support/statuses.ts';
import { connect, eventually, sharedKubernetes } from '../../scenarios/support/kubernetes.ts';
import { aStage } from '../../scenarios/support/stages/stage.ts';
import { Team, type Manifest } from '../../scenarios/support/stages/team.ts';
import { ArgoCd, inWords, isDone, type Application, type Shipped } from './argo-cd.ts';
import { everyState, forEach, putInState } from './every-state.ts';
import { gitFolder, type GitFolder } from './git-folder.ts';
import { accountOf, alertTo, contactPoint } from './wanted.ts';

/* The real Argo CD on the real API server, with our operator and a service for each team. */

const { argocd, kustomize, redis } = inject('engines');
const missing = [argocd, kustomize, redis].flatMap((one) => ('missing' in one ? [one.missing] : []));
const plane = sharedKubernetes();
const api = connect(plane);
let argo: ArgoCd;

beforeAll(async () => {
  if ('missing' in argocd || 'missing' in kustomize || 'missing' in redis) return;
  argo = await ArgoCd.start(plane, api, { argocd: argocd.dir, kustomize: kustomize.dir, redis: redis.dir });
});

afterAll(async () => {
  await argo?.stop();
  await api.close();
});

/** A team's folder in Git and the Application for it. */
interface Synced {
  readonly team: Team;
  readonly name: string;
  readonly git: GitFolder;
}

async function synced(
  team: Team,
  manifests: readonly Manifest[],
  change?: (application: Shipped) => Shipped,
): Promise<Synced> {
  const git = await gitFolder();
  await git.commit(manifests);
  await argo.application(team.namespace, team.namespace, git, change);
  return { team, git, name: team.namespace };
}

/** Waits until something is so; Argo CD is told of the newest commit meanwhile, as a webhook would. */
async function meanwhile({ name }: Synced, what: string, isSo: () => Promise<boolean>): Promise<void> {
  let looks = 0;
  const look = async () => {
    if (looks++ % 10 === 0) await argo.refresh(name);
    return isSo();
  };
  await eventually(what, look, 240_000).catch(async (error: unknown) => {
    throw new Error(`${String(error)}\n${inWords(await argo.get(name))}`);
  });
}

/** Waits until the Application is as Git says, and nothing goes any more. */
async function atRest({ name, team }: Synced, kinds: number): Promise<void> {
  await argo.until(name, 'it is synced and healthy', isDone);
  await eventually('nothing else is left', async () => (await team.left()).length === kinds, 120_000);
}

const allowEmpty = (shipped: Shipped): Shipped => automatic(shipped, { prune: true, selfHeal: true, allowEmpty: true });
const withoutSelfHeal = (shipped: Shipped): Shipped => automatic(shipped, { prune: true });

function automatic(shipped: Shipped, automated: object): Shipped {
  return { ...shipped, spec: { ...shipped.spec, syncPolicy: { ...shipped.spec.syncPolicy, automated } } };
}

const withoutPruneLast = (shipped: Shipped): Shipped => {
  const { syncPolicy } = shipped.spec;
  const syncOptions = syncPolicy.syncOptions.filter((option) => option !== 'PruneLast=true');
  return { ...shipped, spec: { ...shipped.spec, syncPolicy: { ...syncPolicy, syncOptions } } };
};

describe.skipIf(missing.length > 0)('Argo CD', () => {
  it('reads the health of every kind in every state as the table says', async () => {
    const team = await Team.arrive(api);
    const states = everyState(await team.manifests('deploy/samples', 'deploy/samples-more'), { reasons: true });
    // Without waves, which would wait for the first of them.
    const manual = ({ spec, ...shipped }: Shipped): Shipped => ({
      ...shipped,
      spec: {
        ...spec,
        source: { ...spec.source, kustomize: { namespace: team.namespace } },
        syncPolicy: { syncOptions: ['ServerSideApply=true'] },
      },
    });
    const { name } = await synced(
      team,
      states.map(({ manifest }) => manifest),
      manual,
    );
    await argo.sync(name, { syncOptions: ['ServerSideApply=true'] });
    await argo.until(name, 'everything was applied', ({ status }) => status?.operationState?.phase === 'Succeeded');
    await forEach(states, (state) => putInState(api, team, state));

    const wanted = new Map(
      states.map(({ manifest, row }) => [`${manifest.kind} ${manifest.metadata.name}`, argoOf(row)]),
    );
    let differing: readonly string[] = [];
    await argo
      .until(name, 'each has its health', ({ status }) => {
        const seen = new Map(status?.resources?.map((one) => [`${one.kind} ${one.name}`, one.health?.status]));
        differing = [...wanted].flatMap(([key, health]) =>
          seen.get(key) === health ? [] : [`${key} is ${seen.get(key)}, not ${health}`],
        );
        return differing.length === 0;
      })
      .catch(() => undefined);
    expect(differing).toEqual([]);
    expect(wanted.size).toBeGreaterThan(300);
    await argo.delete(name);
  });

  describe.concurrent('with the operator', () => {
    const { aTeam } = aStage();

    it('brings a folder up wave after wave', async () => {
      const team = await aTeam();
      const manifests = await team.manifests('deploy/samples-more/golden-path');
      const one = await synced(team, manifests);
      const apps = manifests.filter(({ kind }) => kind === 'HostedApp');
      await team.until('True/', apps);
      await argo.until(one.name, 'the wave of the environments has begun', ({ status }) =>
        (status?.resources ?? []).some(({ kind, health }) => kind === 'AppEnvironment' && health !== undefined),
      );
      for (const app of apps) {
        const appId = (await team.get(app))?.status?.['externalId'];
        await team.control('POST', '/environments', { appId, name: 'production', region: 'eu-west' });
      }
      await argo.until(one.name, 'it is synced and healthy', isDone, 300_000);
    });

    it('ends where a contact point is replaced by another in one commit', async () => {
      const team = await aTeam();
      const [account, first, second] = [accountOf(team), contactPoint('first'), contactPoint('second')];
      const one = await synced(team, [...account, first, alertTo('first')]);
      await atRest(one, 3);
      await one.git.commit([...account, second, alertTo('second')]);
      await meanwhile(one, 'the first one goes', async () => (await team.get(first)) === undefined);
      await atRest(one, 3);

      const commits = await team.commits();
      expect(commits.filter((kind) => kind === 'contactPoint.deleted')).toHaveLength(1);
      expect(commits.filter((kind) => kind.startsWith('alert.') && kind.endsWith('ed')).includes('alert.deleted')).toBe(
        false,
      );
    });

    it('ends where a contact point is pruned that an alert uses, and the alert is changed by the next commit', async () => {
      const team = await aTeam();
      const [account, first, second] = [accountOf(team), contactPoint('first'), contactPoint('second')];
      const one = await synced(team, [...account, first, second, alertTo('first')]);
      await atRest(one, 4);
      await one.git.commit([...account, second, alertTo('first')]);
      const isHeld = async () => (await team.says(first)) === 'False/DeletionBlocked';
      await meanwhile(one, 'the alert holds the contact point', isHeld);
      await argo.until(one.name, 'the sync is over', ({ status }) => status?.operationState?.phase === 'Succeeded');
      await one.git.commit([...account, second, alertTo('second')]);
      await meanwhile(one, 'the first one goes', async () => (await team.get(first)) === undefined);
      await atRest(one, 3);
    });

    it('prunes everything in every order until nothing is left', async () => {
      const team = await aTeam();
      const all = [...accountOf(team), contactPoint('first'), alertTo('first')];
      const one = await synced(team, all, (shipped) => allowEmpty(shipped));
      await atRest(one, 3);
      for (const left of [all.filter(({ kind }) => kind !== 'ContactPoint'), all.slice(0, 1), all.slice(0, 0)]) {
        await one.git.commit(left);
        const { length } = left.filter(({ kind }) => kind !== 'Secret' && kind !== 'HostingAccount');
        await meanwhile(one, `${length} are left in Git`, async () => {
          const { status } = (await argo.get(one.name)) ?? {};
          return (
            (status?.resources ?? []).filter(({ requiresPruning }) => requiresPruning !== true).length === left.length
          );
        });
      }
      await meanwhile(one, 'everything goes', async () => (await team.left()).length === 0);

      expect((await team.commits()).filter((kind) => kind.endsWith('.deleted')).toSorted()).toEqual([
        'alert.deleted',
        'contactPoint.deleted',
      ]);
    });

    it('is stuck by a replacement without PruneLast, says so, and is freed by terminate-op and a sync', async () => {
      const team = await aTeam();
      const [account, first, second] = [accountOf(team), contactPoint('first'), contactPoint('second')];
      const one = await synced(team, [...account, first, alertTo('first')], withoutPruneLast);
      await atRest(one, 3);
      await one.git.commit([...account, second, alertTo('second')]);
      await argo.until(
        one.name,
        'it waits for the deletion',
        ({ status }) =>
          status?.operationState?.message?.startsWith('waiting for deletion of ') === true &&
          status?.resources?.some((each) => each.requiresPruning === true) === true,
      );
      const waiting = (await argo.get(one.name))?.status?.operationState;
      // Each look of its own would let it go on, if anything could.
      const later = (await argo.looks(10, one.name)).at(-1)?.status?.operationState;
      expect([later?.phase, later?.startedAt, later?.message]).toEqual([
        'Running',
        waiting?.startedAt,
        waiting?.message,
      ]);

      const isOver = ({ status }: Application) =>
        !/^(?:Running|Terminating)$/u.test(status?.operationState?.phase ?? '');
      const hasBegun = async () => {
        await argo.command('app', 'terminate-op', one.name);
        await argo.until(one.name, 'the operation is over', isOver);
        // With `--prune` it would wait for the deletion again, before it changes the alert.
        const begun = argo.command('app', 'sync', one.name).then(() => true);
        // Self-heal may have begun an operation in between, which waits as the first one did.
        return begun.catch((error: unknown) => {
          if (String(error).includes('another operation is already in progress')) return false;
          throw error;
        });
      };
      await eventually('a sync begins', hasBegun);
      await atRest(one, 3);

      expect(await team.get(first)).toBeUndefined();
      const commits = await team.commits();
      expect(commits.filter((kind) => kind === 'contactPoint.deleted')).toHaveLength(1);
      expect(commits).not.toContain('alert.deleted');
    });

    it('puts drift back once, and nothing flaps', async () => {
      const team = await aTeam();
      const one = await synced(team, [...accountOf(team), contactPoint('first'), alertTo('first')]);
      await atRest(one, 3);
      const changed = { ...alertTo('first'), spec: { ...alertTo('first').spec, threshold: 50 } };
      await team.apply(changed);
      await meanwhile(
        one,
        'the change is taken back',
        async () => (await team.get(changed))?.spec?.['threshold'] === 85,
      );
      await team.until('True/', [changed]);
      await argo.until(one.name, 'it is synced and healthy', isDone);
      const [before, calls] = [await team.get(changed), (await team.writes()).length];
      const states = await argo.looks(10, one.name);
      const seen = new Set(states.map(({ status }) => `${status?.sync?.status} ${status?.health?.status}`));

      expect([...seen]).toEqual(['Synced Healthy']);
      expect((await team.get(changed))?.metadata.generation).toBe(before?.metadata.generation);
      expect((await team.writes()).length).toBe(calls);
    });

    it('runs the actions that we ship', async () => {
      const team = await aTeam();
      const samples = await team.manifests('deploy/samples');
      const environment = {
        ...samples.find(({ kind }) => kind === 'AppEnvironment'),
        metadata: { name: 'web' },
      } as Manifest;
      const one = await synced(team, [...accountOf(team), environment], withoutSelfHeal);
      await atRest(one, 2);
      const act = (action: string) =>
        argo.command(
          'app',
          'actions',
          'run',
          one.name,
          action,
          '--kind',
          'AppEnvironment',
          '--group',
          'apphosting.dev',
          '--resource-name',
          'web',
        );
      const annotated = async (name: string) => (await team.get(environment))?.metadata.annotations?.[name];
      await act('refresh');
      await act('redeploy');
      expect(await annotated('apphosting.dev/reconcile-at')).toMatch(/^20/u);
      expect(await annotated('apphosting.dev/redeploy-at')).toMatch(/^20/u);
      await act('pause');
      await argo.until(one.name, 'it is suspended', ({ status }) => status?.health?.status === 'Suspended');
      await act('resume');
      await argo.until(one.name, 'it is healthy', ({ status }) => status?.health?.status === 'Healthy');
      await act('stop');
      await meanwhile(one, 'it is stopped', async () => (await team.says(environment, 'Deployed')) === 'False/Stopped');
      await act('start');
      await team.until('True/', [environment]);

      expect((await team.get(environment))?.spec?.['powerState']).toBe('Running');
    });

    it.each([
      ['synced again', {}],
      ['with prune', { prune: true }],
      ['with force', { syncStrategy: { apply: { force: true } } }],
    ])('carries a one-shot out once, however often it is replayed: %s', async (_how, sync) => {
      const team = await aTeam();
      const samples = await team.manifests('deploy/samples-more');
      const pick = (kind: string) => samples.filter((each) => each.kind === kind);
      const environment = pick('AppEnvironment');
      const [protection, trial] = [pick('DisasterProtection'), pick('RecoveryValidation')];
      const pushOn = async () => {
        for (const each of protection) {
          const id = (await team.get(each))?.status?.['externalId'];
          if (typeof id === 'string') await team.control('PATCH', `/configurations/${id}`, { nextPhase: true });
        }
      };
      const one = await synced(team, [...accountOf(team), ...environment, ...protection, ...trial]);
      await meanwhile(one, 'all are there', async () => (await team.left()).length === 4);
      await team.until('True/', [...protection, ...trial], pushOn);
      await argo.until(one.name, 'it is synced and healthy', isDone);
      for (let time = 0; time < 3; time += 1) {
        const before = (await argo.get(one.name))?.status?.operationState?.startedAt;
        await argo.sync(one.name, sync);
        await argo.until(
          one.name,
          'it was synced again',
          (now) => isDone(now) && now.status?.operationState?.startedAt !== before,
        );
      }

      expect((await team.writes()).filter((line) => line.includes('validate'))).toHaveLength(1);
      expect(await team.says({ kind: 'RecoveryValidation', metadata: { name: trial[0]?.metadata.name ?? '' } })).toBe(
        'True/Succeeded',
      );
    });
  });
});

if (missing.length > 0) it(`could not be had: ${missing.join('; ')}`, (context) => context.skip());
