import type { Condition } from '../../src/engine/kind/contract/step.ts';
import { expect } from 'vitest';
import type { KubeObject } from '../../src/engine/ports.ts';
import { InProcess } from '../support/in-process.ts';
import { flawsOf } from '../support/memory/status-checker.ts';

export { committed } from '../kinds/support/world.ts';

/** What the status of the protection shows, as far as tests use it. */
export interface ProtectionStatus {
  readonly externalId: string;
  readonly configurationGeneration: number;
  readonly recoveryPoints: readonly {
    readonly selectedOperationId: string;
    readonly pointId: string;
    readonly cutoffTime: string;
    readonly configurationGeneration: number;
  }[];
  readonly operations?: readonly {
    readonly operationId: string;
    readonly kind?: string;
    readonly requestId?: string;
  }[];
  readonly activeOperation?: { readonly operationId: string; readonly kind?: string };
  readonly activationResult?: { readonly operationId: string };
  readonly warmDestination?: { readonly environmentName: string; readonly appName: string };
}

/** Where the endpoints of disaster readiness are. */
export const disaster = '/api/public/v1/disaster-readiness';

export const target = { environmentName: 'recovered', appName: 'orders-db-recovered', createNewApp: true };

/** The spec of the protection of the demo database. */
export const aProtection = {
  environmentRef: { externalId: 'env_db_prod' },
  destinationRegion: 'us-east',
  protectionMode: 'Cold',
  snapshotIntervalSeconds: 300,
  target,
};

type Options = ConstructorParameters<typeof InProcess>[0];

/** A world with an account and a protection of the demo database that is Ready. */
export async function aProtectedWorld(options: Options = {}, protection: object = {}): Promise<InProcess> {
  const world = new InProcess({ powers: { activation: true, accountReset: false }, ...options });
  await world.start();
  world.account();
  await world.run(2_000);
  world.apply('DisasterProtection', 'orders', { ...aProtection, ...protection });
  await world.run(900_000);
  return world;
}

/** The status of an object, as what the test takes it for. */
export function statusOf<Status = Readonly<Record<string, unknown>>>(
  world: InProcess,
  kind: string,
  name: string,
): Status {
  return (world.get(kind, name)?.status ?? {}) as Status;
}

/** `True/Reason` of a condition. */
export function conditionOf(world: InProcess, kind: string, name: string, type: string): string | undefined {
  const { conditions = [] } = statusOf<{ conditions?: readonly Condition[] }>(world, kind, name);
  const found = conditions.find((condition) => condition.type === type);
  return found && `${found.status}/${found.reason}`;
}

/** The message of Ready, for what a test prints when it fails. */
export function sentenceOf(world: InProcess, kind: string, name: string): string | undefined {
  const { conditions = [] } = statusOf<{ conditions?: readonly Condition[] }>(world, kind, name);
  return conditions.find(({ type }) => type === 'Ready')?.message;
}

/** The spec of an activation of the newest point, valid for an hour. */
export function anActivation(world: InProcess, more: object = {}): object {
  const { externalId: configurationId, recoveryPoints } = statusOf<ProtectionStatus>(
    world,
    'DisasterProtection',
    'orders',
  );
  const [newest] = recoveryPoints;
  if (newest === undefined) throw new Error('the protection shows no recovery point');
  const { selectedOperationId, pointId, cutoffTime, configurationGeneration } = newest;
  return {
    protectionRef: { name: 'orders' },
    configurationId,
    recoveryPoint: { selectedOperationId, pointId, cutoffTime, configurationGeneration },
    target,
    acknowledgements: ['WriterSafety'],
    confirmation: 'orders-db/production',
    validUntil: new Date(world.clock.wall() + 3_600_000).toISOString(),
    ...more,
  };
}

/** Flaws of every status that a test looks at. */
export function flaws(world: InProcess, ...objects: readonly (readonly [string, string])[]): readonly string[] {
  return objects.flatMap(([kind, name]) => {
    const object: KubeObject | undefined = world.get(kind, name);
    return object === undefined ? [] : flawsOf(object);
  });
}

/** The status of the protection. */
export function protection(world: InProcess): ProtectionStatus {
  return statusOf<ProtectionStatus>(world, 'DisasterProtection', 'orders');
}

/** An hour from now, as specs write it. */
export function validUntil(world: InProcess): string {
  return new Date(world.clock.wall() + 3_600_000).toISOString();
}

/** The spec of a reset of just the configuration that the protection has. */
export function aReset(world: InProcess, more: object = {}): object {
  const { externalId: configurationId, configurationGeneration: generation } = protection(world);
  return {
    scope: 'Environment',
    environmentRef: { externalId: 'env_db_prod' },
    configurationId,
    configurationGeneration: generation,
    confirmation: 'production',
    acknowledgements: ['DeletesProtectionAndLeftovers'],
    validUntil: validUntil(world),
    ...more,
  };
}

/** The spec of a discard of the operation that the protection shows. */
export function aDiscard(world: InProcess, more: object = {}): object {
  const { externalId: configurationId, configurationGeneration: generation, activeOperation } = protection(world);
  return {
    protectionRef: { name: 'orders' },
    configurationId,
    operationId: activeOperation?.operationId,
    configurationGeneration: generation,
    acknowledgements: ['DiscardsRecoveredData'],
    validUntil: validUntil(world),
    ...more,
  };
}

/** An activation that keeps failing, as long as it takes until the service lets it be discarded. */
export async function failingActivation(world: InProcess, name = 'now', more: object = {}): Promise<void> {
  await world.control('PATCH', `/configurations/${protection(world).externalId}`, { failSteps: 1_000 });
  world.apply('RecoveryActivation', name, anActivation(world, more));
  await world.run(1_500_000);
}

/** Somebody wipes the protection without a DisasterReset. */
export async function wipedByHand(world: InProcess): Promise<void> {
  const { status } = await world.request('POST', '/disaster-readiness/reset', {
    accountId: 'acc_demo',
    scope: 'environment',
    confirmationName: 'production',
    sourceAppEnvId: 'env_db_prod',
  });
  expect(status).toBe(200);
}

/** People edit the spec of the protection. */
export function edit(world: InProcess, more: object): void {
  const spec = world.get('DisasterProtection', 'orders')?.spec as object;
  world.apply('DisasterProtection', 'orders', { ...spec, ...more });
}

/** Somebody changes a setting of the protection besides us. */
export async function editedByHand(world: InProcess): Promise<void> {
  const { configurationGeneration: generation } = protection(world);
  const { body } = await world.request('POST', '/disaster-readiness/configure', {
    accountId: 'acc_demo',
    common: {},
    items: [
      { sourceAppEnvId: 'env_db_prod', requestId: 'by-hand', expectedGeneration: generation, rtoTargetMs: 7_200_000 },
    ],
  });
  expect(body).toMatchObject({ items: [{ success: true }] });
}
