/** A DisasterProtection as it stands in the cluster, for the commands that help to activate it. */
import { CustomObjectsApi } from '@kubernetes/client-node';
import type { Clock } from '../base/clock.ts';
import { parseFlags, wholeEnvironment, type CommandLine, type Flag, type Parsed, type Settings } from '../config.ts';
import { group, version } from '../engine/objects/names.ts';
import { Facts, Spec } from '../kinds/disaster-protection/schema.ts';
import { ask, findCluster } from '../kube/client/api-classes.ts';
import { realClock } from './run.ts';

/** What the commands need to know of a protection. */
export interface Protection {
  readonly name: string;
  readonly namespace: string;
  readonly configurationId: string;
  readonly spec: Spec;
  readonly facts: Facts;
  /** The message of RecoveryReady, when it is not True. */
  readonly doubt: string | undefined;
  /** The reason and message of ActivationAvailable, when it is False. */
  readonly obstacle: { readonly reason: string; readonly message: string } | undefined;
}

/** One recovery point, as status lists it. */
export type Point = NonNullable<Facts['recoveryPoints']>[number];

/** Which protection a command is about, and where. */
interface Asked {
  readonly name: string;
  readonly kubeconfig: string | undefined;
  readonly context: string | undefined;
  readonly namespace: string | undefined;
}

/** The name before the flags, and the flags. */
export function parseNamed<F extends Readonly<Record<string, Flag<unknown>>>>(
  command: CommandLine<F>,
  args: readonly string[],
): Parsed<Settings<F> & { readonly name: string }> {
  const [name, ...rest] = args;
  const asked = name === '--help' || name === '-h';
  if (!asked && (name === undefined || !/^[a-z0-9][-a-z0-9.]*$/.test(name))) {
    const wrong = name === undefined ? 'NAME is missing:' : `"${name}" is not`;
    return {
      kind: 'wrong',
      line: `apphosting ${command.name}: ${wrong} the name of a DisasterProtection, which comes first`,
    };
  }
  const parsed = parseFlags(command, asked ? ['--help'] : rest);
  return parsed.kind === 'settings' ? { kind: 'settings', settings: { ...parsed.settings, name: name ?? '' } } : parsed;
}

/** Runs a command about one protection: prints its text, or a line on why there is none; returns the exit code. */
export async function aboutProtection<S extends Asked>(
  name: string,
  parsed: Parsed<S>,
  textOf: (protection: Protection, settings: S, nowMs: number) => { text: string } | { refused: string },
): Promise<number> {
  if (parsed.kind === 'help') {
    process.stdout.write(parsed.text);
    return 0;
  }
  if (parsed.kind === 'wrong') return complain(parsed.line, 2);
  try {
    const protection = await readProtection(parsed.settings, realClock);
    if (typeof protection === 'string') return complain(`apphosting ${name}: ${protection}`, 1);
    const said = textOf(protection, parsed.settings, realClock.wall());
    if ('refused' in said) return complain(`apphosting ${name}: ${said.refused}`, 1);
    process.stdout.write(said.text);
    return 0;
  } catch (error) {
    return complain(`apphosting ${name}: ${error instanceof Error ? error.message : String(error)}`, 1);
  }
}

function complain(line: string, code: number): number {
  process.stderr.write(`${line}\n`);
  return code;
}

/** Reads a protection from the cluster; a sentence where that is not possible. */
async function readProtection(asked: Asked, clock: Clock): Promise<Protection | string> {
  const { kubeconfig, context, name } = asked;
  const cluster = await findCluster({
    clock,
    env: wholeEnvironment(),
    ...(kubeconfig !== undefined && { kubeconfig }),
    ...(context !== undefined && { context }),
  });
  const namespace = asked.namespace ?? cluster.namespace ?? 'default';
  const api = cluster.config.makeApiClient(CustomObjectsApi);
  const read = api.getNamespacedCustomObject({ group, version, plural: 'disasterprotections', namespace, name });
  const object: unknown = await ask(clock, `reading DisasterProtection ${namespace}/${name}`, read);
  if (object === undefined) return `there is no DisasterProtection ${namespace}/${name}`;
  const { spec, status } = object as { readonly spec: unknown; readonly status: unknown };
  return protectionFrom({ name, namespace, spec, status });
}

/** A protection from its object; a sentence where it has nothing to activate. */
export function protectionFrom(object: {
  readonly name: string;
  readonly namespace: string;
  readonly spec: unknown;
  readonly status: unknown;
}): Protection | string {
  const { name, namespace } = object;
  const spec = Spec.safeParse(object.spec);
  const facts = Facts.safeParse(object.status ?? {});
  const { configurationId, conditions = [] } = (object.status ?? {}) as {
    configurationId?: unknown;
    conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason: string;
      readonly message: string;
    }[];
  };
  if (!spec.success || !facts.success || typeof configurationId !== 'string') {
    return `DisasterProtection ${namespace}/${name} is not bound to a configuration yet`;
  }
  const find = (wanted: string) => conditions.find(({ type }) => type === wanted);
  const ready = find('RecoveryReady');
  const doubt = ready?.status === 'True' ? undefined : (ready?.message ?? 'its readiness is not known');
  const available = find('ActivationAvailable');
  const obstacle = available?.status === 'False' ? available : undefined;
  return { name, namespace, configurationId, spec: spec.data, facts: facts.data, doubt, obstacle };
}

/** What a person must know of a list of points before choosing one of them; nothing when it is as it should be. */
export function cautionsOn({ facts, doubt, obstacle }: Protection, nowMs: number): readonly string[] {
  const { recoveryPoints: [newest] = [], settings } = facts;
  const intervalMs = (settings?.snapshotIntervalSeconds ?? Number.POSITIVE_INFINITY) * 1_000;
  const isOld = newest !== undefined && nowMs - Date.parse(newest.cutoffTime) > 2 * intervalMs;
  return [
    ...(doubt === undefined ? [] : [`NOT READY: ${doubt}`]),
    ...(obstacle === undefined
      ? []
      : [`${obstacle.reason === 'AlreadyActivated' ? 'ACTIVATED BEFORE' : 'NOT POSSIBLE NOW'}: ${obstacle.message}`]),
    ...(isOld
      ? [
          `OLD: the newest point is ${ageOf(newest.cutoffTime, nowMs)} old, and one is due every ${ageOf(new Date(nowMs - intervalMs).toISOString(), nowMs)}: snapshots have stopped, or nobody keeps this list up to date.`,
        ]
      : []),
  ];
}

/** How old something is, in the two largest units. */
export function ageOf(moment: string, nowMs: number): string {
  const minutes = Math.max(0, Math.floor((nowMs - Date.parse(moment)) / 60_000));
  if (minutes < 60) return `${minutes}m`;
  if (minutes < 1_440) return `${Math.floor(minutes / 60)}h${minutes % 60}m`;
  return `${Math.floor(minutes / 1_440)}d${Math.floor((minutes % 1_440) / 60)}h`;
}
