import type { Pass, View } from '../../../src/engine/kind/contract/pass.ts';
import type { Memory } from '../../../src/engine/kind/contract/step.ts';
import type { Read, Snapshot } from '../../../src/engine/ports.ts';
import type { ConfigurationItem, PointItem, SourceItem } from '../../../src/hosting/requests.ts';
import { drConfigurationsOf } from '../../../src/hosting/requests.ts';
import type { RecoveryActivationFacts, RecoveryActivationSpec } from '../../../src/kinds/recovery-activation/schema.ts';

/** 2026-01-01T00:00:00Z: where the wall stands when the monotonic clock shows 0. */
export const wallStart = Date.UTC(2026, 0, 1);
export const configurationId = 'cfg_1';
export const cutoffTime = '2025-12-31T23:00:00.000Z';
export const pointId = 'a'.repeat(64);

/** The spec of an activation that nothing stands in the way of. */
export function aSpec(more: Partial<RecoveryActivationSpec> = {}): RecoveryActivationSpec {
  return {
    protectionRef: { name: 'orders' },
    configurationId,
    recoveryPoint: { selectedOperationId: 'op_enrollment', pointId, cutoffTime, configurationGeneration: 3 },
    target: { environmentName: 'recovered', appName: 'orders-recovered', createNewApp: true },
    acknowledgements: ['WriterSafety'],
    confirmation: 'orders/prod',
    validUntil: new Date(wallStart + 3_600_000).toISOString(),
    ...more,
  };
}

/** A configuration as the service would show it. */
export function aConfiguration(more: object = {}): ConfigurationItem {
  const [item] =
    drConfigurationsOf('acc_demo').items({
      items: [{ configurationId, sourceAppEnvId: 'env_1', generation: 3, settings: { mode: 'cold' }, ...more }],
    }) ?? [];
  if (item === undefined) throw new Error('not a configuration');
  return item;
}

/** What the service shows in a pass. */
export interface World {
  readonly configurations: readonly ConfigurationItem[];
  readonly points: readonly PointItem[];
  readonly sources: readonly SourceItem[];
  readonly begunAt: number;
  /** When the sources were read, if at another time. */
  readonly sourcesBegunAt?: number;
  readonly dateMs: number | undefined;
}

export const aPoint: PointItem = {
  selectedOperationId: 'op_enrollment',
  pointId,
  cutoffAt: cutoffTime,
  generation: 3,
  availabilityRequiresVerification: true,
  retainedSizing: undefined,
};

export const aSource: SourceItem = {
  sourceAppEnvId: 'env_1',
  appId: 'app_1',
  appName: 'orders',
  environmentName: 'prod',
  region: 'eu-west',
  eligible: true,
  volumes: [],
  unsupportedReasons: [],
  eligibleDestinations: [],
  suggestedSettings: undefined,
  configurationId,
  target: undefined,
  pendingCleanup: undefined,
};

/** A world in which the default spec may be sent. */
export function aWorld(more: Partial<World> = {}): World {
  return {
    configurations: [aConfiguration()],
    points: [aPoint],
    sources: [aSource],
    begunAt: 1_000,
    dateMs: wallStart + 1_000,
    ...more,
  };
}

function viewOf(world: World): View {
  const itemsOf = (read: { readonly key: string }): readonly unknown[] =>
    read.key === 'drConfigurations' ? world.configurations : read.key === 'drSources' ? world.sources : world.points;
  const all = <Item>(read: Read<Item>): Snapshot<Item> => {
    const items = itemsOf(read) as readonly Item[];
    const { dateMs } = world;
    const begunAt = read.key === 'drSources' ? (world.sourcesBegunAt ?? world.begunAt) : world.begunAt;
    return { items: new Map(items.map((item) => [read.idOf(item), item])), begunAt, dateMs };
  };
  return {
    all,
    one: (read, id) => {
      const snapshot = all(read);
      return { snapshot, item: snapshot.items.get(id) };
    },
    group: () => undefined,
    problem: () => undefined,
  };
}

export const noMemory: Memory<RecoveryActivationFacts> = {
  id: undefined,
  ownership: undefined,
  binding: undefined,
  journal: undefined,
  applied: undefined,
  facts: {},
};

/** A pass over an activation that was taken up and may be sent. */
export function aPass(
  more: Partial<Omit<Pass<RecoveryActivationSpec, RecoveryActivationFacts>, 'view'>> & { readonly world?: World } = {},
): Pass<RecoveryActivationSpec, RecoveryActivationFacts> {
  const { world = aWorld(), ...rest } = more;
  return {
    subject: {
      kind: 'RecoveryActivation',
      namespace: 'team',
      name: 'now',
      uid: 'uid-1',
      generation: 1,
      createdAtMs: wallStart,
      annotations: {},
      deleting: false,
      held: false,
    },
    spec: aSpec(),
    memory: { ...noMemory, binding: { endpoint: 'api.example.com', accountId: 'acc_1' } },
    account: {
      endpoint: 'api.example.com',
      accountId: 'acc_1',
      managementPolicy: 'Manage',
      adoption: 'ById',
      pollMs: 60_000,
      inEffect: { pollMs: 60_000, rateLimitedMs: undefined },
      frozen: undefined,
    },
    view: viewOf(world),
    referred: () => ({ id: configurationId, facts: { environmentId: 'env_1' } }),
    secret: () => undefined,
    configMap: () => undefined,
    claimant: () => undefined,
    dependents: () => ({ count: 0, first: [] }),
    creating: () => undefined,
    powers: { sinceMs: wallStart - 60_000, activation: true, accountReset: false },
    clusterMs: wallStart + 1_000,
    wrote: undefined,
    journalSeen: { monotonic: 1_000, wall: wallStart + 1_000 },
    notes: {},
    askedAt: 1_000,
    takeOverMs: 0,
    horizonMs: 120_000,
    callDeadlineMs: 30_000,
    mark: 'apphosting:aaaaaaaaaaaaaaaa',
    fingerprint: (value) => `key:${JSON.stringify(value)}`,
    contested: new Set(),
    wallMs: wallStart + 1_000,
    monotonicMs: 1_000,
    ...rest,
  };
}
