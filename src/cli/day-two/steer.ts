/** `apphosting reconcile, pause, resume, redeploy, rollback, stop, start`: change one resource and wait for the result. */
import { z } from 'zod';
import { parseFlags, wholeNumber, type CommandLine, type Flags } from '../../config.ts';
import { isRecord } from '../../base/json.ts';
import { KubeError, type KubeObject, type PatchOperation } from '../../engine/ports.ts';
import { annotations } from '../../engine/objects/names.ts';
import { askedBy } from '../../kinds/app-environment/parts.ts';
import { clusterFlags, openCluster, type OpenCluster } from '../cluster/open.ts';
import { conditionOf, isCurrent, kindNamed } from '../cluster/objects.ts';
import { resourceOf } from '../operator/operator.ts';
import { exitCodes } from '../output/exit-codes.ts';
import { standard, type Speaks } from '../output/speaks.ts';
import { gitOwnerOf } from './owner.ts';

/** An action on a resource. */
export type Steering = 'reconcile' | 'pause' | 'resume' | 'redeploy' | 'rollback' | 'stop' | 'start';

interface Way {
  readonly summary: string;
  /** The only kind it applies to. */
  readonly kind?: 'AppEnvironment';
  readonly operations: (object: KubeObject, at: string) => readonly PatchOperation[];
  /** The same change in the manifest in Git, if it is a change of the spec. */
  readonly inGit?: string;
  /** True once the operator has handled the request. */
  readonly isTakenUp: (object: KubeObject, at: string) => boolean;
}

/** The actions by name. */
export const ways: Readonly<Record<Steering, Way>> = {
  reconcile: {
    summary: 'Lets the operator look at a resource now, and read anew what it otherwise reads in turns.',
    operations: (object, at) => annotate(object, annotations.reconcileAt, at),
    isTakenUp: ({ status }, at) => isRecord(status) && status['lastHandledReconcileAt'] === at,
  },
  pause: {
    summary: 'Holds a resource: nothing is sent for it until it is resumed.',
    operations: (object) => annotate(object, annotations.paused, 'true'),
    isTakenUp: (object) =>
      conditionOf(object, 'Ready')?.reason === 'Paused' || conditionOf(object, 'Ready')?.status === 'True',
  },
  resume: {
    summary: 'Lets a paused resource go on.',
    operations: (object) => annotate(object, annotations.paused, undefined),
    isTakenUp: (object) => conditionOf(object, 'Ready')?.reason !== 'Paused',
  },
  redeploy: {
    summary: 'Restarts an environment on what it runs.',
    kind: 'AppEnvironment',
    operations: (object, at) => annotate(object, askedBy.redeploy, at),
    isTakenUp: ({ status }, at) => isRecord(status) && status['lastHandledRedeployAt'] === at,
  },
  rollback: {
    summary: 'Rolls an environment back to the version that was deployed before the one that runs.',
    kind: 'AppEnvironment',
    operations: (object, at) => annotate(object, askedBy.rollBack, at),
    isTakenUp: ({ status }, at) => isRecord(status) && status['lastHandledRollBackAt'] === at,
  },
  stop: {
    summary: 'Stops an environment: it sets spec.powerState to Stopped.',
    kind: 'AppEnvironment',
    operations: () => [{ op: 'add', path: '/spec/powerState', value: 'Stopped' }],
    inGit: 'spec:\n  powerState: Stopped',
    isTakenUp: isCurrent,
  },
  start: {
    summary: 'Starts an environment: it sets spec.powerState to Running.',
    kind: 'AppEnvironment',
    operations: () => [{ op: 'add', path: '/spec/powerState', value: 'Running' }],
    inGit: 'spec:\n  powerState: Running',
    isTakenUp: isCurrent,
  },
};

function annotate({ metadata }: KubeObject, name: string, value: string | undefined): readonly PatchOperation[] {
  const path = `/metadata/annotations/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
  const known = metadata.annotations ?? {};
  if (value === undefined) return known[name] === undefined ? [] : [{ op: 'remove', path }];
  const all: PatchOperation = { op: 'add', path: '/metadata/annotations', value: { [name]: value } };
  return metadata.annotations === undefined ? [all] : [{ op: 'add', path, value }];
}

const flags = {
  ...clusterFlags,
  wait: { help: 'wait until the resource is Ready or cannot get there by itself', schema: z.boolean() },
  timeout: {
    help: 'with --wait: how long, in seconds',
    value: 'SECONDS',
    fallback: '300',
    schema: wholeNumber(1, 86_400),
  },
  dryRun: { help: 'say what would be changed, and change nothing', schema: z.boolean() },
};

/** The command line of one action. */
export function steeringCommand(name: Steering) {
  const { summary, kind } = ways[name];
  return {
    name: `${name} ${kind === undefined ? 'KIND/NAME' : 'ENVIRONMENT'}`,
    summary,
    operands: { least: 1, most: 1 },
    flags,
    notes: [
      'Exit codes: 0 fine (with --wait: Ready), 1 it could not be told in time, 2 it cannot get Ready by itself, 3 Argo CD or Flux owns it, 64 usage.',
    ],
  } satisfies CommandLine<Flags>;
}

/** The clock of a waiting command. */
export interface Waiting {
  readonly nowMs: () => number;
  readonly pause: (ms: number) => Promise<void>;
}

const real: Waiting = {
  nowMs: () => Date.now(),
  pause: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
};

/** Runs one action. */
export async function steer(
  name: Steering,
  args: readonly string[],
  speaks: Speaks = standard,
  given?: OpenCluster,
  waiting: Waiting = real,
): Promise<number> {
  const command = steeringCommand(name);
  const parsed = parseFlags(command, args);
  if (parsed.kind === 'help') {
    speaks.out(parsed.text);
    return exitCodes.fine;
  }
  const complain = (line: string, code: number) => {
    speaks.err(`${line}\n`);
    return code;
  };
  if (parsed.kind === 'wrong') return complain(parsed.line, exitCodes.usage);
  const { settings, operands: [target = ''] = [] } = parsed;
  const way = ways[name];
  const [word = '', called = ''] = target.includes('/') ? target.split('/') : [way.kind ?? '', target];
  const kind = kindNamed(word);
  if (kind === undefined || called === '' || (way.kind !== undefined && kind.kind !== way.kind)) {
    const wanted = way.kind === undefined ? 'KIND/NAME of a kind of apphosting.dev' : 'an AppEnvironment';
    return complain(
      `apphosting ${name}: "${target}" is not ${wanted}; apphosting ${name} --help lists the options`,
      exitCodes.usage,
    );
  }
  const cluster = given ?? (await openCluster(settings));
  if ('trouble' in cluster) return complain(`apphosting ${name}: ${cluster.trouble}`, exitCodes.unknown);
  const title = `${kind.kind}/${called}`;
  try {
    const resource = resourceOf(kind);
    const namespace = kind.scope === 'Cluster' ? undefined : (settings.namespace ?? cluster.namespace);
    const object = await cluster.api.get(resource, namespace, called);
    if (object === undefined)
      return complain(
        `apphosting ${name}: there is no ${title}${namespace === undefined ? '' : ` in namespace ${namespace}`}`,
        exitCodes.unknown,
      );
    const owner = way.inGit === undefined ? undefined : gitOwnerOf(object);
    if (owner !== undefined) {
      const line = `apphosting ${name}: ${owner.tool} (${owner.name}) owns ${title} and would undo this; change it in Git:`;
      speaks.out(`${way.inGit ?? ''}\n`);
      return complain(line, exitCodes.gate);
    }
    const at = new Date(waiting.nowMs()).toISOString();
    const operations = way.operations(object, at);
    if (settings.dryRun) {
      speaks.out(
        operations.length === 0
          ? `${title}: nothing to change\n`
          : operations.map((one) => `${title}: ${JSON.stringify(one)}\n`).join(''),
      );
      return exitCodes.fine;
    }
    if (operations.length > 0) await cluster.api.patch(resource, namespace, called, operations);
    speaks.out(`${title}: ${name} asked for\n`);
    if (!settings.wait) return exitCodes.fine;
    const find = () => cluster.api.get(resource, namespace, called);
    return await waited(
      { find, title, isTakenUp: (one) => way.isTakenUp(one, at), name },
      settings.timeout * 1_000,
      speaks,
      waiting,
    );
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    const why = error.reason === 'forbidden' ? `may not patch ${kind.plural}.apphosting.dev` : error.message;
    return complain(`apphosting ${name}: ${title}: ${why}`, exitCodes.unknown);
  } finally {
    if (given === undefined) await cluster.close();
  }
}

interface Waited {
  readonly find: () => Promise<KubeObject | undefined>;
  readonly title: string;
  readonly name: Steering;
  readonly isTakenUp: (object: KubeObject) => boolean;
}

/** Waits until the object is Ready, or says that it will not be by itself. */
async function waited(
  { find, title, isTakenUp, name }: Waited,
  timeoutMs: number,
  speaks: Speaks,
  { nowMs, pause }: Waiting,
): Promise<number> {
  const until = nowMs() + timeoutMs;
  let last = 'nothing has been said of it yet';
  for (;;) {
    const object = await find();
    if (object === undefined) {
      speaks.err(`apphosting ${name}: ${title} is gone\n`);
      return exitCodes.unknown;
    }
    const [ready, stalled] = [conditionOf(object, 'Ready'), conditionOf(object, 'Stalled')];
    if (ready !== undefined) last = `${ready.reason}: ${ready.message}`;
    if (isTakenUp(object) && isCurrent(object)) {
      const isHeld = name === 'pause' && ready?.reason === 'Paused';
      if (ready?.status === 'True' || isHeld) {
        speaks.out(`${title}: ${ready?.reason ?? ''}\n`);
        return exitCodes.fine;
      }
      if (stalled?.status === 'True') {
        speaks.err(`apphosting ${name}: ${title} is stalled: ${last}\n`);
        return exitCodes.found;
      }
    }
    if (nowMs() >= until) {
      speaks.err(`apphosting ${name}: ${title} is not Ready after ${Math.round(timeoutMs / 1_000)} s: ${last}\n`);
      return exitCodes.unknown;
    }
    await pause(1_000);
  }
}
