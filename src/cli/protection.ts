/** Reads a DisasterProtection from the cluster and its recovery points from the service, for `points` and `activate`. */
import type { CommandLine, Flags, Settings } from '../config.ts';
import type { KubeApi } from '../engine/ports.ts';
import { drPointsOf } from '../hosting/requests.ts';
import { disasterProtection } from '../kinds/disaster-protection/disaster-protection.ts';
import { byMoment, pointRows, type PointRow } from '../kinds/disaster-protection/points.ts';
import { DisasterProtectionFacts, DisasterProtectionSpec } from '../kinds/disaster-protection/schema.ts';
import { accountFlags, credentialByFlags, isNamedByFlags, withAccount, type AccountSettings } from './account/flags.ts';
import { credentialOfAccount, operatorNamespaceFlag } from './account/in-cluster.ts';
import type { AccountReader } from './account/reader.ts';
import { conditionOf, targetIn } from './cluster/objects.ts';
import { clusterFlags, inCluster, type OpenCluster } from './cluster/open.ts';
import { command, type CommandAnswer, type Called, type Command } from './frame.ts';
import { readWhole } from './import/read-account.ts';
import { resourceOf } from '../engine/kind/contract/define.ts';
import { ageInTwoUnits } from './output.ts';

/** A DisasterProtection and its recovery points, as these commands need them. */
export interface ProtectionView {
  readonly name: string;
  readonly namespace: string;
  readonly configurationId: string;
  readonly spec: DisasterProtectionSpec;
  readonly facts: DisasterProtectionFacts;
  /** The message of the condition RecoveryReady, if it is not True. */
  readonly doubt: string | undefined;
  /** The reason and message of the condition ActivationAvailable, if it is False. */
  readonly obstacle: { readonly reason: string; readonly message: string } | undefined;
  /** Why the service did not list the points; set only if they come from status. */
  readonly stale?: Extract<LivePoints, { readonly why: string }>;
}

/** One recovery point, as status lists it. */
export type Point = NonNullable<DisasterProtectionFacts['recoveryPoints']>[number];

/** The flags of a command about a protection. */
export const protectionFlags = { ...clusterFlags, ...accountFlags, operatorNamespace: operatorNamespaceFlag };

/** Makes a command that reads one protection and prints what `answerOf` says about it. */
export function aboutProtection<F extends typeof protectionFlags & Flags>(
  line: CommandLine<F>,
  answerOf: (protection: ProtectionView, settings: Settings<F>, nowMs: number) => CommandAnswer,
): Command<[given?: OpenCluster]> {
  const whole = { ...line, operands: { least: 1, most: 1 } };
  return command(whole, async ({ settings, operands: [word = ''] }: Called<F>, given?: OpenCluster) => {
    const target = targetIn(word, 'DisasterProtection');
    if (target === undefined) return { trouble: `"${word}" is not a DisasterProtection`, isUsage: true };
    const { name } = target;
    return inCluster(settings, given, async ({ api, namespace }) => {
      const object = await api.get(resourceOf(disasterProtection), namespace, name);
      if (object === undefined) return { trouble: `there is no DisasterProtection ${namespace}/${name}` };
      const protection = protectionFrom({ name, namespace, spec: object.spec, status: object.status });
      if (typeof protection === 'string') return { trouble: protection };
      const live = await livePoints(api, protection, settings);
      return answerOf(withPoints(protection, live), settings, Date.now());
    });
  });
}

/** All recovery points, newest first, or a sentence that says why they could not be listed. */
export type LivePoints =
  | { readonly points: readonly PointRow[] }
  /** `asked` is true if the service was asked and did not answer, false if it could not be asked. */
  | { readonly why: string; readonly asked: boolean };

/** Asks the service for every recovery point, with the credential from the flags or else from the protection's account. */
export async function livePoints(
  api: Pick<KubeApi, 'get'>,
  protection: Pick<ProtectionView, 'namespace' | 'spec' | 'facts' | 'configurationId'>,
  settings: AccountSettings & { readonly operatorNamespace: string },
): Promise<LivePoints> {
  const { namespace, spec } = protection;
  const { kind = 'HostingAccount', name = 'default' } = spec.accountRef ?? {};
  const { operatorNamespace } = settings;
  const credential = isNamedByFlags(settings)
    ? await credentialByFlags(settings)
    : await credentialOfAccount(api, { kind, namespace, name, operatorNamespace });
  const found = await withAccount(credential, settings, (reader) => pointsFrom(reader, protection));
  return 'trouble' in found ? { why: found.trouble, asked: false } : found;
}

/** Asks the service for every recovery point, through an account that is already open. */
export async function pointsFrom(
  reader: Pick<AccountReader, 'accountId' | 'read'>,
  { configurationId, facts }: Pick<ProtectionView, 'facts' | 'configurationId'>,
): Promise<LivePoints> {
  const found = await readWhole(reader, drPointsOf(reader.accountId, configurationId));
  if ('message' in found) return { why: found.message, asked: true };
  return { points: pointRows(byMoment(found.items), { generation: facts.configurationGeneration ?? 0 }) };
}

/** Replaces the points from status by those that the service lists; keeps them if the service gave no list. */
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

/** Parses a DisasterProtection; returns a sentence if it is not bound to a configuration yet. */
export function protectionFrom(object: {
  readonly name: string;
  readonly namespace: string;
  readonly spec: unknown;
  readonly status: unknown;
}): ProtectionView | string {
  const { name, namespace } = object;
  const spec = DisasterProtectionSpec.safeParse(object.spec);
  const facts = DisasterProtectionFacts.safeParse(object.status ?? {});
  const { externalId: configurationId } = (object.status ?? {}) as { readonly externalId?: unknown };
  if (!spec.success || !facts.success || typeof configurationId !== 'string') {
    return `DisasterProtection ${namespace}/${name} is not bound to a configuration yet`;
  }
  const ready = conditionOf(object, 'RecoveryReady');
  const doubt = ready?.status === 'True' ? undefined : (ready?.message ?? 'its readiness is not known');
  const available = conditionOf(object, 'ActivationAvailable');
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
          `OLD: the newest point is ${ageInTwoUnits(newest.cutoffTime, nowMs)} old, and one is due every ${ageInTwoUnits(new Date(nowMs - intervalMs).toISOString(), nowMs)}: snapshots have stopped, or nobody keeps this list up to date.`,
        ]
      : []),
  ];
}
