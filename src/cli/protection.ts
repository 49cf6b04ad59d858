/** A DisasterProtection as it stands in the cluster, for the commands that help to activate it. */
import { CoreV1Api, CustomObjectsApi } from '@kubernetes/client-node';
import type { Clock } from '../base/clock.ts';
import { parseFlags, wholeEnvironment, type CommandLine, type Flag, type Parsed, type Settings } from '../config.ts';
import { group, version } from '../engine/objects/names.ts';
import { DisasterProtectionFacts, DisasterProtectionSpec } from '../kinds/disaster-protection/schema.ts';
import { ask, findCluster } from '../kube/client/api-classes.ts';
import { livePoints, type LivePoints, type PointsSettings } from './live-points.ts';
import { realClock } from './run.ts';

/** A protection as the commands need it. */
export interface ProtectionView {
  readonly name: string;
  readonly namespace: string;
  readonly configurationId: string;
  readonly spec: DisasterProtectionSpec;
  readonly facts: DisasterProtectionFacts;
  /** The message of RecoveryReady, when it is not True. */
  readonly doubt: string | undefined;
  /** The reason and message of ActivationAvailable, when it is False. */
  readonly obstacle: { readonly reason: string; readonly message: string } | undefined;
  /** Set when the points come from status: says why the service did not list them. */
  readonly stale?: Extract<LivePoints, { readonly why: string }>;
}

/** The output of a command, or why there is none. `note` goes to stderr, and `isUnsure` makes the command end with 1. */
export type Said =
  | { readonly text: string; readonly note?: string; readonly isUnsure?: boolean }
  | { readonly refused: string };

/** One recovery point, as status lists it. */
export type Point = NonNullable<DisasterProtectionFacts['recoveryPoints']>[number];

/** Which protection a command is about, and where. */
interface Asked extends PointsSettings {
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
  textOf: (protection: ProtectionView, settings: S, nowMs: number) => Said,
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
    const code = said.isUnsure === true ? 1 : 0;
    return said.note === undefined ? code : complain(`apphosting ${name}: ${said.note}`, code);
  } catch (error) {
    return complain(`apphosting ${name}: ${error instanceof Error ? error.message : String(error)}`, 1);
  }
}

function complain(line: string, code: number): number {
  process.stderr.write(`${line}\n`);
  return code;
}

/** Reads a protection from the cluster and its points from the service; a sentence where there is no protection to read. */
async function readProtection(asked: Asked, clock: Clock): Promise<ProtectionView | string> {
  const { kubeconfig, context, name } = asked;
  const cluster = await findCluster({
    clock,
    env: wholeEnvironment(),
    ...(kubeconfig !== undefined && { kubeconfig }),
    ...(context !== undefined && { context }),
  });
  const namespace = asked.namespace ?? cluster.namespace ?? 'default';
  const custom = cluster.config.makeApiClient(CustomObjectsApi);
  const core = cluster.config.makeApiClient(CoreV1Api);
  const ours = (kind: string, named: string): Promise<unknown> => {
    const plural = `${kind.toLowerCase()}s`;
    const read = custom.getNamespacedCustomObject({ group, version, plural, namespace, name: named });
    return ask(clock, `reading ${kind} ${namespace}/${named}`, read);
  };
  const object = await ours('DisasterProtection', name);
  if (object === undefined) return `there is no DisasterProtection ${namespace}/${name}`;
  const { spec, status } = object as { readonly spec: unknown; readonly status: unknown };
  const protection = protectionFrom({ name, namespace, spec, status });
  if (typeof protection === 'string') return protection;
  const objects = {
    account: (named: string) => ours('HostingAccount', named),
    secret: (named: string): Promise<unknown> =>
      ask(clock, `reading Secret ${namespace}/${named}`, core.readNamespacedSecret({ namespace, name: named })),
  };
  return withPoints(protection, await livePoints(objects, protection, asked));
}

/** The protection with the points that the service lists; without an answer, with those of status. */
export function withPoints(protection: ProtectionView, live: LivePoints): ProtectionView {
  if ('why' in live) return { ...protection, stale: live };
  const { obstacle, facts } = protection;
  const isGone = live.points.length > 0 && obstacle?.reason === 'NoRecoveryPoint';
  return {
    ...protection,
    facts: { ...facts, recoveryPoints: [...live.points] },
    obstacle: isGone ? undefined : obstacle,
  };
}

/** A protection from its object; a sentence where it has nothing to activate. */
export function protectionFrom(object: {
  readonly name: string;
  readonly namespace: string;
  readonly spec: unknown;
  readonly status: unknown;
}): ProtectionView | string {
  const { name, namespace } = object;
  const spec = DisasterProtectionSpec.safeParse(object.spec);
  const facts = DisasterProtectionFacts.safeParse(object.status ?? {});
  const { externalId: configurationId, conditions = [] } = (object.status ?? {}) as {
    externalId?: unknown;
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

/** Warnings about a list of points, for whoever chooses one. */
export function cautionsOn({ facts, doubt, obstacle }: ProtectionView, nowMs: number): readonly string[] {
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

/** The age of something in its two largest units. */
export function ageOf(moment: string, nowMs: number): string {
  const minutes = Math.max(0, Math.floor((nowMs - Date.parse(moment)) / 60_000));
  if (minutes < 60) return `${minutes}m`;
  if (minutes < 1_440) return `${Math.floor(minutes / 60)}h${minutes % 60}m`;
  return `${Math.floor(minutes / 1_440)}d${Math.floor((minutes % 1_440) / 60)}h`;
}
