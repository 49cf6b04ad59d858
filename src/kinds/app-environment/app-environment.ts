import { sameJson } from '../../base/json.ts';
import { defineKind } from '../../engine/kind/contract/define.ts';
import { readOf } from '../../engine/kind/planner/observe.ts';
import { type OwnCondition, type Showing, isNo, about } from '../../engine/kind/contract/step.ts';
import type { Request } from '../../engine/ports.ts';
import { appsOf, postAppEnvStart, postAppEnvStop, type AppEnvItem } from '../../hosting/requests.ts';
import { listOf, locate, type EnvironmentPass, type EnvironmentStep } from './binding.ts';
import {
  act,
  askedFor,
  assume,
  besideOthers,
  deployment,
  dueOf,
  endedWithoutEffect,
  isDue,
  isFailed,
  isLagging,
  notCarriedOut,
  resolveDeployment,
  started,
  startsWithout,
  stateOf,
  wasDeployed,
} from './deployments.ts';
import { askedBy, isPowerSet, leftoverOf, partsOf, renewed, revisionOf } from './parts.ts';
import { AppEnvironmentFacts, AppEnvironmentSpec } from './schema.ts';
import { leaveDrift } from '../shared/drift.ts';
import { isDatabase, presetOfEnvironment } from '../shared/presets.ts';
import { needOf } from '../shared/references.ts';
import { needsOf } from '../../engine/kind/schema/schema.ts';

const underUpdate = 'the environment is being updated';

function step(pass: EnvironmentPass): EnvironmentStep {
  if (pass.subject.deleting) return { is: 'release' };
  // First find out what became of a call whose outcome is unknown, even if another resource claims the environment now,
  // because that resource waits for the outcome.
  const lost = resolveDeployment(pass);
  if (lost !== undefined) return lost;
  const located = locate(pass);
  if (located.is === 'gone') return withoutDoubt(pass, located.step);
  if (located.is !== 'found') return located;
  const { item, snapshot } = located;
  const sentAt = pass.wrote?.at ?? Number.NEGATIVE_INFINITY;
  const since = Math.max(sentAt, pass.notes.staleBefore ?? Number.NEGATIVE_INFINITY);
  if (snapshot.begunAt < since) {
    const again = readOf(pass, listOf(pass), since);
    // A list that was read before our call still shows the old state of the environment. So report Updating until a newer list
    // is read.
    const isOurs = again.is === 'read' && snapshot.begunAt < sentAt;
    return isOurs ? { is: 'wait', reason: 'Updating', message: underUpdate, awaits: again } : again;
  }
  const state = stateOf(item);
  const note = { ...pass.notes, staleBefore: pass.monotonicMs };
  if (isLagging(pass, item)) {
    const message = 'the service accepted the call; waiting until the service shows its effect';
    return { is: 'wait', reason: 'Updating', message, retryInMs: 3_000, note };
  }
  if (state === 'Updating') return { is: 'wait', reason: 'Updating', message: underUpdate, note: {} };
  if (state !== 'Running' && state !== 'Stopped') {
    const message = `the service reports the environment status "${state}", which its API does not document; nothing is sent until the status changes`;
    return { is: 'wait', reason: 'UnknownRemoteStatus', message, note: {} };
  }
  return atRest(pass, item, state);
}

/** Records that a call with an unknown outcome had no effect, because the environment is proved gone. */
function withoutDoubt(pass: EnvironmentPass, step: EnvironmentStep): EnvironmentStep {
  const { journal } = pass.memory;
  if (journal === undefined || step.is === 'release') return step;
  return { ...step, remember: notCarriedOut(pass, journal) };
}

/** Decides the next step for an environment that runs or is stopped, and that is not being updated. */
function atRest(pass: EnvironmentPass, item: AppEnvItem, state: 'Running' | 'Stopped'): EnvironmentStep {
  const { spec, memory } = pass;
  const { powerState, deploy } = spec;
  const first = memory.applied === undefined && memory.facts.deploy === undefined;
  if (first && state === 'Running' && deploy?.onBind !== 'Deploy') {
    return unstartable(pass, item) ?? { is: 'again', remember: assume(pass) };
  }
  const ended = outcomes(memory.facts, state);
  if (ended !== undefined) return { is: 'again', remember: { facts: { ...memory.facts, ...ended } } };
  if (powerState === 'Stopped' && state === 'Running') return power(pass, item, 'stop');
  const due = dueOf(pass);
  const starts = powerState === 'Running' && state === 'Stopped';
  const staysStopped =
    powerState === 'Stopped' || (state === 'Stopped' && powerState === undefined && wasDeployed(memory.facts));
  if (due === 'deployment' && !staysStopped && !(starts && startsWithout(pass))) {
    return unstartable(pass, item) ?? act(pass, item, deployment(pass, item.appEnvId));
  }
  if (starts) return power(pass, item, 'start');
  const asked = asks.find((one) => isDue(pass, one));
  if (asked !== undefined && state === 'Running') return act(pass, item, askedFor(pass, asked, item.appEnvId));
  const applied = renewed(pass, state, due === 'nothing');
  if (!sameJson(applied, memory.applied)) return { is: 'again', remember: { applied } };
  const lost = failed(pass);
  if (lost !== undefined) return lost;
  if (due === 'deployment' || asked !== undefined) {
    const what =
      due === 'deployment'
        ? `the deployment of ${revisionOf(spec) ?? ''}`
        : `the call that annotation ${askedBy[asked ?? 'redeploy']} asks for`;
    const message = `the environment is stopped; ${what} waits until the environment runs again`;
    return { is: 'ready', reason: 'DeployHeld', message, note: {} };
  }
  if (due === 'withNextBuild') {
    const message =
      'spec.startupConfig has changed and takes effect with the next build; to build now, change spec.deploy.build.revision';
    return { is: 'ready', reason: 'PendingNextBuild', message, note: {} };
  }
  const { outcome, revision, rollback } = memory.facts.deploy ?? {};
  if (rollback?.besideSpec === true) {
    const message = `the environment was rolled back to ${revision ?? 'the previous version'}, as annotation ${askedBy.rollBack} asked; the spec is deployed again once it asks for a different deployment`;
    return { is: 'ready', reason: 'RolledBack', message, note: {} };
  }
  if (outcome === 'Assumed' && revision === revisionOf(spec)) {
    const also = deploy?.rollbackContentId === undefined ? ' or the annotation redeploy-at changes' : '';
    const message = `the environment already ran when this resource was bound to it: ${revision ?? 'its content'} counts as deployed until the spec asks for a different deployment${also}`;
    return { is: 'ready', reason: 'DeployAssumed', message, note: {} };
  }
  const message =
    state === 'Running'
      ? 'the environment runs as specified'
      : 'the environment is stopped, and the spec asks for nothing else';
  return { is: 'ready', message, note: {} };
}

/**
 * Stalls if spec.startupConfig is set for a job or a database. If the preset of the app is not known, the service decides
 * whether it accepts spec.startupConfig.
 */
function unstartable(pass: EnvironmentPass, { appEnvId }: AppEnvItem): EnvironmentStep | undefined {
  const preset = pass.spec.startupConfig === undefined ? undefined : presetOfEnvironment(pass, appEnvId);
  if (preset !== 'JOB' && (preset === undefined || !isDatabase(pass, preset))) return undefined;
  const message =
    preset === 'JOB'
      ? 'spec.startupConfig is not allowed for a job: remove it, and set the command in spec.jobConfig of the HostedApp'
      : `spec.startupConfig is not allowed for a database, and the environment runs ${preset}: remove spec.startupConfig`;
  return { is: 'stall', reason: 'Rejected', message };
}

const asks = ['rollBack', 'redeploy'] as const;

/**
 * Stalls after a failed deployment, or after a failed call that an annotation asked for. The operator does not repeat failed
 * calls by itself.
 */
function failed(pass: EnvironmentPass): EnvironmentStep | undefined {
  const { deploy } = pass.memory.facts;
  const asked = asks.find((one) => endedWithoutEffect(pass, one) !== undefined);
  if (asked === undefined && (!isFailed(pass) || deploy?.rollback?.besideSpec === true)) return undefined;
  const again = `to try again, set the annotation ${askedBy[asked ?? 'redeploy']} to a new value; or change the image, build.revision or rollbackContentId in spec.deploy (with an image, also spec.env, spec.functionConfig or spec.startupConfig), and the operator deploys the spec instead`;
  const asking = { redeploy: 'redeploying', rollBack: 'rolling back' };
  const what = asked === undefined ? `deploying ${revisionOf(pass.spec) ?? ''}` : asking[asked];
  if ((asked === undefined ? deploy?.outcome : endedWithoutEffect(pass, asked)) !== 'InDoubt')
    return { is: 'stall', reason: 'DeployFailed', message: `${what} failed, as the service reports; ${again}` };
  const message = `${what}: the outcome of two attempts is not known, and no effect is visible in the environment; ${again}`;
  return { is: 'stall', reason: 'DeployInDoubt', message };
}

/**
 * Starts or stops the environment. Both calls are safe to repeat. So if the outcome of a call is unknown, the operator
 * only reads the environment again, and repeats the call if it had no effect.
 */
function power(pass: EnvironmentPass, item: AppEnvItem, way: 'start' | 'stop'): EnvironmentStep {
  const { memory } = pass;
  const isDrift = isPowerSet(pass, way === 'start' ? 'Running' : 'Stopped');
  const left = isDrift ? leaveDrift(pass, 'powerState', `environment "${item.name}"`) : undefined;
  if (left !== undefined) return left;
  const waits = besideOthers(pass, item);
  if (waits !== undefined) return waits;
  const { appEnvId, updatedAtMs } = item;
  const request: Request = way === 'start' ? postAppEnvStart({ appEnvId }) : postAppEnvStop({ appEnvId });
  return {
    is: 'call',
    call: {
      request,
      words: `${way} environment "${item.name}"`,
      urgency: isDrift ? 'drift' : 'edit',
      corrects: isDrift ? ['powerState'] : [],
      alone: [appEnvId],
      committed: (body) => (way === 'start' ? started(pass, body) : {}),
      note: (at) => ({ environmentCalled: { at, updatedAtBefore: updatedAtMs } }),
      refused: (refusal, answeredAt) => {
        if (refusal.is === 'inDoubt') {
          const message = `${way} environment "${item.name}": the outcome of the call is not known; the operator reads the environment before it sends the call again`;
          const note = { ...pass.notes, staleBefore: answeredAt };
          return { is: 'wait', reason: 'InDoubt', message, retryInMs: 1_000, note };
        }
        const never = way === 'start' && memory.facts.deploy === undefined;
        if (!never || !isNo(refusal)) return undefined;
        const message = `start environment "${item.name}": ${refusal.message}; an environment can start only after a first deployment: set spec.deploy`;
        return { is: 'stall', reason: 'NeverDeployed', message, note: { ...pass.notes, neverDeployed: true } };
      },
    },
  };
}

function show(pass: EnvironmentPass): Showing<AppEnvironmentFacts> {
  const { memory, spec, notes } = pass;
  const seen = memory.id === undefined ? undefined : pass.view.one(listOf(pass), memory.id);
  const item = seen?.item;
  const leftover = leftoverOf(pass);
  if (item === undefined) {
    const unseen = memory.id !== undefined && seen === undefined;
    return { unseen, facts: memory.facts, conditions: [], leftover };
  }
  // For some time after a call the service shows the old state of the environment. Report Updating until the update
  // time of the environment changes, but not longer than `--horizon-seconds`.
  const state = isLagging(pass, item) ? 'Updating' : stateOf(item);
  const { powerState } = spec;
  const isDrift =
    powerState !== undefined &&
    state !== powerState &&
    (state === 'Running' || state === 'Stopped') &&
    isPowerSet(pass, powerState);
  const deploys = Object.keys(spec.deploy ?? {}).filter((name) => name !== 'onBind');
  return {
    facts: { ...memory.facts, ...shownOf(item, state), appName: appNameOf(pass, item) },
    conditions: [deployedCondition(state, memory.facts, notes.neverDeployed === true)],
    drift: isDrift ? [{ field: 'powerState', desired: powerState, observed: state }] : [],
    unverified: [...deploys.map((name) => `deploy.${name}`), ...Object.keys(partsOf(pass)).toSorted()],
    leftover,
  };
}

/** Returns the name of the environment's app: from the list of apps, else from status or the spec. */
function appNameOf({ view, account, memory, spec }: EnvironmentPass, { appId }: AppEnvItem): string | undefined {
  return view.one(appsOf(account.accountId), appId)?.item?.name ?? memory.facts.appName ?? spec.appRef?.name;
}

function shownOf(item: AppEnvItem, state: string): AppEnvironmentFacts {
  const { appId, name, slug, cliEnvName, deploymentName, region, gitBranch, hosts } = item;
  const { memory, ...resources } = item.resources ?? {};
  return {
    appId,
    environmentName: name,
    state,
    slug,
    cliEnvironmentName: cliEnvName,
    deploymentName,
    region,
    gitBranch,
    hosts: [...hosts],
    ...(item.resources !== undefined && { resources: { ...resources, memoryMb: memory } }),
  };
}

/**
 * Returns the status fields that record whether the environment runs or is stopped after the newest deployment;
 * undefined if status has recorded this already.
 */
function outcomes({ deploy, history }: AppEnvironmentFacts, state: 'Running' | 'Stopped') {
  if (deploy?.outcome !== 'Updating') return undefined;
  const [newest, ...older] = history ?? [];
  return {
    deploy: { ...deploy, outcome: state },
    ...(newest !== undefined && { history: [{ ...newest, outcome: state }, ...older] }),
  };
}

function deployedCondition(state: string, { deploy }: AppEnvironmentFacts, neverDeployed: boolean): OwnCondition {
  const deployed = about('Deployed');
  switch (state) {
    case 'Running':
      return deployed.yes('Running', 'the environment runs');
    case 'Stopped':
      return neverDeployed && deploy === undefined
        ? deployed.no('NeverDeployed', 'this resource has never deployed anything to the environment')
        : deployed.no('Stopped', 'the environment is stopped');
    case 'Updating':
      return deployed.unknown('Updating', underUpdate);
    default:
      return deployed.unknown('UnknownRemoteStatus', `the service reports the unknown status "${state}"`);
  }
}

/** The AppEnvironment kind: what is deployed to an existing environment, and whether the environment runs. */
export const appEnvironment = defineKind<AppEnvironmentSpec, AppEnvironmentFacts>({
  kind: 'AppEnvironment',
  plural: 'appenvironments',
  shortNames: ['aenv'],
  scope: 'Namespaced',
  summary: 'An existing environment of an app: what is deployed to it, and whether it runs.',
  life: 'long',
  spec: AppEnvironmentSpec,
  facts: AppEnvironmentFacts,
  internal: ['tookChanges'],
  idWord: 'appEnvId',
  holds: false,
  columns: [
    { name: 'APP', path: '.status.appName', description: 'The app that the environment belongs to.' },
    { name: 'REVISION', path: '.status.deploy.revision', description: 'The revision that was deployed last.' },
    { name: 'STATE', path: '.status.state', description: 'The state: Running, Stopped, Updating or another one.' },
    { name: 'REGION', path: '.status.region', wide: true, description: 'The region of the environment.' },
  ],
  selectable: [
    '.spec.appRef.name',
    '.spec.powerState',
    '.status.appId',
    '.status.externalId',
    '.status.region',
    '.status.state',
  ],
  needs: ({ appRef, solutionRef, env = [] }) => ({
    ...needsOf(env.map((variable) => [`env (${variable.name})`, variable])),
    references: [
      ...needOf('HostedApp', appRef, 'appRef'),
      ...needOf('SolutionInstallation', solutionRef, 'solutionRef', { withoutId: true }),
    ],
  }),
  claims: ({ externalId }) => (externalId === undefined ? [] : [externalId]),
  always: ['Deployed'],
  interfaceWords: () => ({
    envVars: 'env',
    fromContentId: 'deploy.build.fromContentId',
    targetContentId: 'deploy.rollbackContentId',
  }),
  step,
  show,
});
