/** Reads a DisasterProtection from the cluster, and its recovery points from the service. The commands `points` and `activate` use it. */
import { Trouble, UsageError } from '../config.ts';
import type { KubeApi, KubeObject } from '../engine/ports.ts';
import { drPointsOf } from '../hosting/requests.ts';
import { disasterProtection } from '../kinds/disaster-protection/disaster-protection.ts';
import { byMoment, pointRows, type PointRow } from '../kinds/disaster-protection/points.ts';
import { DisasterProtectionFacts, DisasterProtectionSpec } from '../kinds/disaster-protection/schema.ts';
import { accountFlags, credentialByFlags, isNamedByFlags, type AccountSettings } from './account/flags.ts';
import { credentialOfAccount, operatorNamespaceFlag } from './account/in-cluster.ts';
import { openAccount, type AccountReader } from './account/reader.ts';
import { conditionOf, targetIn } from './cluster/objects.ts';
import { clusterFlags, openCluster } from './cluster/open.ts';
import type { Called } from './frame.ts';
import { readWhole } from './import/read-account.ts';
import { resourceOf } from '../engine/kind/contract/define.ts';
import { ageInTwoUnits } from './output.ts';

/** A DisasterProtection and its recovery points, as the commands `points` and `activate` need them. */
export interface ProtectionView {
  readonly name: string;
  readonly namespace: string;
  readonly configurationId: string;
  readonly spec: DisasterProtectionSpec;
  readonly facts: DisasterProtectionFacts;
  /** The message of the condition RecoveryReady if this condition is not True. */
  readonly doubt: string | undefined;
  /** The reason and message of the condition ActivationAvailable if this condition is False. */
  readonly obstacle: { readonly reason: string; readonly message: string } | undefined;
  /**
   * The reason why the service did not list the recovery points. If there is such a reason, `facts` has the points from
   * the status of the resource.
   */
  readonly stale?: Extract<LivePoints, { readonly why: string }>;
}

/** One recovery point, as the status of a DisasterProtection lists it. */
export type Point = NonNullable<DisasterProtectionFacts['recoveryPoints']>[number];

/** The flags that all commands about a DisasterProtection have, and the first note in the help of these commands. */
export const protectionCommand = {
  flags: { ...clusterFlags, ...accountFlags, operatorNamespace: operatorNamespaceFlag },
  notes: [
    "Without --base-url and --token-file, the command uses the access token of the protection's account, if you are allowed to read its Secret.",
  ],
};

/** Reads the protection that a command names, with the recovery points that the service lists now. */
export async function readProtection(called: Called<typeof protectionCommand.flags>): Promise<ProtectionView> {
  const { settings, operand = '', cluster: given } = called;
  const target = targetIn(operand, 'DisasterProtection');
  if (target === undefined) throw new UsageError(`"${operand}" is not a DisasterProtection`);
  const { name } = target;
  await using cluster = await openCluster(settings, given);
  const { api, namespace } = cluster;
  const object = await api.get(resourceOf(disasterProtection), namespace, name);
  if (object === undefined) throw new Trouble(`there is no DisasterProtection ${namespace}/${name}`);
  const protection = protectionFrom(object);
  return withPoints(protection, await livePoints(api, protection, settings));
}

/** All recovery points, newest first, or a sentence that says why they could not be listed. */
export type LivePoints =
  | { readonly points: readonly PointRow[] }
  /** `asked` is true if the service was asked but gave no usable list, and false if no request could be sent. */
  | { readonly why: string; readonly asked: boolean };

/**
 * Asks the service for all recovery points of a protection. Uses the credential from flags. Without such flags, uses
 * the credential of the protection's account.
 */
export async function livePoints(
  api: Pick<KubeApi, 'get'>,
  protection: Pick<ProtectionView, 'namespace' | 'spec' | 'facts' | 'configurationId'>,
  settings: AccountSettings & { readonly operatorNamespace: string },
): Promise<LivePoints> {
  const { namespace, spec } = protection;
  const { kind = 'HostingAccount', name = 'default' } = spec.accountRef ?? {};
  const { operatorNamespace } = settings;
  try {
    const credential = isNamedByFlags(settings)
      ? await credentialByFlags(settings)
      : await credentialOfAccount(api, { kind, namespace, name, operatorNamespace });
    await using reader = openAccount(credential, settings);
    return await pointsFrom(reader, protection);
  } catch (error) {
    if (!(error instanceof Trouble)) throw error;
    return { why: error.message, asked: false };
  }
}

/** Asks the service for all recovery points of a protection. Uses a reader that the caller has opened. */
export async function pointsFrom(
  reader: Pick<AccountReader, 'accountId' | 'read'>,
  { configurationId, facts }: Pick<ProtectionView, 'facts' | 'configurationId'>,
): Promise<LivePoints> {
  const found = await readWhole(reader, drPointsOf(reader.accountId, configurationId));
  if ('message' in found) return { why: found.message, asked: true };
  return { points: pointRows(byMoment(found.items), { generation: facts.configurationGeneration ?? 0 }) };
}

/**
 * Replaces the recovery points from the status by those that the service lists. If the service gave no list, keeps the
 * points from the status and adds the reason.
 */
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

/**
 * Parses a DisasterProtection. Throws if the resource is not valid, or if its status does not name its configuration in
 * the service yet.
 */
export function protectionFrom(object: KubeObject): ProtectionView {
  const { name, namespace = '' } = object.metadata;
  const spec = DisasterProtectionSpec.safeParse(object.spec);
  const facts = DisasterProtectionFacts.safeParse(object.status ?? {});
  const { externalId: configurationId } = (object.status ?? {}) as { readonly externalId?: unknown };
  if (!spec.success || !facts.success || typeof configurationId !== 'string') {
    throw new Trouble(`DisasterProtection ${namespace}/${name} is not valid, or has no configuration in the service`);
  }
  const ready = conditionOf(object, 'RecoveryReady');
  const unknown = 'the DisasterProtection has no condition RecoveryReady, so it is not known if a recovery would work';
  const doubt = ready?.status === 'True' ? undefined : (ready?.message ?? unknown);
  const available = conditionOf(object, 'ActivationAvailable');
  const obstacle = available?.status === 'False' ? available : undefined;
  return { name, namespace, configurationId, spec: spec.data, facts: facts.data, doubt, obstacle };
}

/** Lists warnings about a protection and the age of its newest recovery point, for a person who chooses a recovery point. */
export function cautionsOn({ facts, doubt, obstacle }: ProtectionView, nowMs: number): readonly string[] {
  const { recoveryPoints: [newest] = [], settings } = facts;
  const intervalMs = (settings?.snapshotIntervalSeconds ?? Number.POSITIVE_INFINITY) * 1_000;
  const lengthOf = (ms: number) => ageInTwoUnits(new Date(nowMs - ms).toISOString(), nowMs);
  const isOld = newest !== undefined && nowMs - Date.parse(newest.cutoffTime) > 2 * intervalMs;
  return [
    ...(doubt === undefined ? [] : [`NOT READY: ${doubt}`]),
    ...(obstacle === undefined
      ? []
      : [`${obstacle.reason === 'AlreadyActivated' ? 'ACTIVATED BEFORE' : 'NOT POSSIBLE NOW'}: ${obstacle.message}`]),
    ...(isOld
      ? [
          `OLD: the newest recovery point is ${ageInTwoUnits(newest.cutoffTime, nowMs)} old, but one is due every ${lengthOf(intervalMs)}: snapshots have stopped, or this list is out of date.`,
        ]
      : []),
  ];
}
