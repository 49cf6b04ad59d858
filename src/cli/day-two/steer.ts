/** `apphosting reconcile, pause, resume, redeploy, rollback, stop, start`: change one resource and wait for the result. */
import { duration, Trouble, UsageError, type CommandLine, type Flags } from '../../config.ts';
import { isRecord } from '../../base/json.ts';
import type { KubeObject, PatchOperation } from '../../engine/ports.ts';
import { annotations, resourceOf } from '../../engine/kind/contract/define.ts';
import { askedBy } from '../../kinds/app-environment/parts.ts';
import { clusterFlags, openCluster } from '../cluster/open.ts';
import { conditionOf, isCurrent, targetIn } from '../cluster/objects.ts';
import { command, type CommandAnswer } from '../frame.ts';
import { exitCodes } from '../output.ts';

/** The name of a command that changes one resource. */
export type Steering = 'reconcile' | 'pause' | 'resume' | 'redeploy' | 'rollback' | 'stop' | 'start';

interface Way {
  readonly summary: string;
  /** The only kind that the command applies to; absent if it applies to all kinds. */
  readonly kind?: 'AppEnvironment';
  readonly operations: (object: KubeObject, at: string) => readonly PatchOperation[];
  /**
   * The lines that a person can write into a manifest in Git instead of running the command. If a GitOps tool owns the
   * resource, the command prints these lines and changes nothing. Set only for commands that change the spec.
   */
  readonly inGit?: string;
  /**
   * True once the operator has handled the request that the command
   * wrote into the resource, such as a requested reconcile.
   */
  readonly isTakenUp: (object: KubeObject, at: string) => boolean;
}

/** Describes the commands that change one resource, by the name of the command. */
export const ways: Readonly<Record<Steering, Way>> = {
  reconcile: {
    summary: 'Makes the operator reconcile a resource now, with fresh reads of the service.',
    ...asking(annotations.reconcileAt, 'lastHandledReconcileAt'),
  },
  pause: {
    summary: 'Pauses a resource: the operator sends nothing for the resource until it is resumed.',
    ...asking(annotations.reconcileAt, 'lastHandledReconcileAt', { [annotations.paused]: 'true' }),
  },
  resume: {
    summary: 'Resumes a paused resource: the operator reconciles it again.',
    ...asking(annotations.reconcileAt, 'lastHandledReconcileAt', { [annotations.paused]: undefined }),
  },
  redeploy: {
    summary: 'Restarts an environment with the version that it runs now.',
    kind: 'AppEnvironment',
    ...asking(askedBy.redeploy, 'lastHandledRedeployAt'),
  },
  rollback: {
    summary: 'Rolls an environment back to the version that was deployed before the current version.',
    kind: 'AppEnvironment',
    ...asking(askedBy.rollBack, 'lastHandledRollBackAt'),
  },
  stop: powering('Stops', 'Stopped'),
  start: powering('Starts', 'Running'),
};

/**
 * Defines a command that asks the operator for something by setting an annotation. When the operator has handled the
 * annotation, it copies the annotation's value to the status field that `handled` names.
 */
function asking(annotation: string, handled: string, more: Annotations = {}): Pick<Way, 'operations' | 'isTakenUp'> {
  return {
    operations: (object, at) => annotate(object, { ...more, [annotation]: at }),
    isTakenUp: ({ status }, at) => isRecord(status) && status[handled] === at,
  };
}

function powering(verb: string, value: 'Stopped' | 'Running'): Way {
  return {
    summary: `${verb} an environment by setting spec.powerState to ${value}.`,
    kind: 'AppEnvironment',
    operations: () => [{ op: 'add', path: '/spec/powerState', value }],
    inGit: `spec:\n  powerState: ${value}`,
    isTakenUp: isCurrent,
  };
}

/** Annotations to set on a resource; a value of undefined removes the annotation. */
type Annotations = Readonly<Record<string, string | undefined>>;

function annotate({ metadata }: KubeObject, wanted: Annotations): readonly PatchOperation[] {
  const known = metadata.annotations;
  const changes = Object.entries(wanted).flatMap(([name, value]): readonly PatchOperation[] => {
    const path = `/metadata/annotations/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    if (value !== undefined) return [{ op: 'add', path, value }];
    return known?.[name] === undefined ? [] : [{ op: 'remove', path }];
  });
  return known === undefined ? [{ op: 'add', path: '/metadata/annotations', value: {} }, ...changes] : changes;
}

const flags = {
  ...clusterFlags,
  wait: { help: 'wait until the resource is Ready (or paused), or cannot become Ready by itself' },
  timeout: {
    help: 'with --wait: the time limit, such as 5m',
    value: 'TIME',
    fallback: '5m',
    schema: duration(1, 86_400),
  },
  dryRun: { help: 'print the changes that the command would make, and change nothing' },
};

/** Describes the command line of a command that changes one resource: its name, operand, flags and help. */
export function steeringCommand(name: Steering) {
  const { summary, kind } = ways[name];
  return {
    name: `${name} ${kind === undefined ? 'KIND/NAME' : 'ENVIRONMENT'}`,
    summary,
    operand: 'needed',
    flags,
    notes: [
      'Exit codes: 0 success (with --wait: the resource is Ready), 1 the result is not known in time, 2 the resource is paused or cannot become Ready by itself, 3 Argo CD or Flux owns the resource, 64 wrong usage.',
    ],
  } satisfies CommandLine<Flags>;
}

/** Makes the command with this name. The command changes one resource. */
export function steering(name: Steering) {
  const way = ways[name];
  return command(
    steeringCommand(name),
    async ({ settings, operand: word = '', speaks, cluster: given, time }): Promise<CommandAnswer> => {
      const target = targetIn(word, way.kind);
      if (target === undefined) {
        if (way.kind !== undefined) throw new UsageError(`"${word}" is not an AppEnvironment`);
        throw new UsageError(`"${word}" must have the form KIND/NAME, where KIND is a kind of apphosting.dev`);
      }
      const title = `${target.kind.kind}/${target.name}`;
      const resource = resourceOf(target.kind);
      await using cluster = await openCluster(settings, given);
      const { api } = cluster;
      const namespace = target.kind.scope === 'Cluster' ? undefined : cluster.namespace;
      const where = namespace === undefined ? '' : ` in namespace ${namespace}`;
      const find = () => api.get(resource, namespace, target.name);
      const object = await find();
      if (object === undefined) throw new Trouble(`there is no ${title}${where}`);
      const owner = way.inGit === undefined ? undefined : gitOwnerOf(object);
      if (owner !== undefined) {
        const note = `${owner.tool} (${owner.name}) owns ${title} and would undo the change; make the change in Git:`;
        return { note, text: `${way.inGit ?? ''}\n`, code: exitCodes.gate };
      }
      const at = new Date(time.nowMs()).toISOString();
      const operations = way.operations(object, at);
      if (settings.dryRun) {
        const lines = operations.map((one) => `${title}: ${JSON.stringify(one)}\n`);
        return { text: lines.join('') || `${title}: nothing to change\n` };
      }
      if (operations.length > 0) await api.patch(resource, namespace, target.name, operations);
      const text = `${title}: ${name} requested\n`;
      if (!settings.wait) return { text };
      speaks.out(text);
      // Wait until the resource is Ready (for the command `pause`: until it is paused), or until it is Stalled.
      const before = stalledMessageOf(object);
      const until = time.nowMs() + settings.timeout * 1_000;
      let last = 'the operator has not reported a status yet';
      for (;;) {
        const seen = await find();
        if (seen === undefined) throw new Trouble(`${title} is gone`);
        if (name !== 'pause' && seen.metadata.annotations?.[annotations.paused] === 'true') {
          const note = `${title} is paused, so nothing was reconciled; to go on: apphosting resume ${title}`;
          return { note, code: exitCodes.found };
        }
        const [ready, stalled] = [conditionOf(seen, 'Ready'), stalledMessageOf(seen)];
        if (ready !== undefined) last = `${ready.reason}: ${ready.message}`;
        const isDone = way.isTakenUp(seen, at);
        // Do not look at the conditions of a paused object, because the operator does not update them during a pause.
        if (isDone && name === 'pause') return { text: `${title}: paused\n` };
        if (isDone && isCurrent(seen) && ready?.status === 'True') return { text: `${title}: ${ready.reason}\n` };
        // If the service refuses the requested call, the operator does not record in status that it has handled the
        // request. So also stop waiting if the condition Stalled has a new message.
        if (stalled !== undefined && isCurrent(seen) && (isDone || stalled !== before))
          return { code: exitCodes.found, note: `${title} is stalled: ${last}` };
        if (time.nowMs() >= until)
          throw new Trouble(
            `${title} is not ${name === 'pause' ? 'paused' : 'Ready'} after ${settings.timeout} s: ${last}`,
          );
        await time.pause(1_000);
      }
    },
  );
}

/** Returns the message of the Stalled condition; undefined if the resource is not Stalled. */
function stalledMessageOf(object: KubeObject): string | undefined {
  const stalled = conditionOf(object, 'Stalled');
  return stalled?.status === 'True' ? stalled.message : undefined;
}

/** Finds the GitOps tool that owns an object, with its Application or release; returns undefined if no label or annotation names one. */
function gitOwnerOf({ metadata }: KubeObject) {
  const { labels = {}, annotations = {} } = metadata;
  const tracked = annotations['argocd.argoproj.io/tracking-id'];
  if (tracked !== undefined) return { tool: 'Argo CD', name: `Application ${tracked.split(':')[0]}` };
  for (const [label, kind] of Object.entries(fluxLabels)) {
    const name = labels[label];
    if (name !== undefined) return { tool: 'Flux', name: `${kind} ${name}` };
  }
  // Argo CD marks its objects with this label when it does not use annotations.
  const instance = labels['argocd.argoproj.io/instance'];
  return instance === undefined ? undefined : { tool: 'Argo CD', name: `Application ${instance}` };
}

const fluxLabels = {
  'kustomize.toolkit.fluxcd.io/name': 'Kustomization',
  'helm.toolkit.fluxcd.io/name': 'HelmRelease',
} as const;
