/** The lives of disaster readiness: one protection, and the four requests that are made once. */
import { type InProcess } from '../support/in-process.ts';
import { anActivation, committed, statusOf, type ProtectionStatus } from '../disaster/support.ts';
import type { Life } from './lives.ts';

const dangerousToken = 'planted-dangerous-token';
const powers = { activation: true, accountReset: false };
const protection = {
  environmentRef: { externalId: 'env_web_prod' },
  destinationRegion: 'us-east',
  protectionMode: 'Cold',
};

/** A protected database that is ready for recovery, in an account with a credential of its own for what is dangerous. */
async function protectedDatabase(world: InProcess): Promise<void> {
  await world.control('POST', '/tokens', {
    token: dangerousToken,
    scopes: ['svc:read', 'svc:write:deploy', 'svc:write:dangerous'],
    memberships: [{ accountId: 'acc_demo', role: 'admin' }],
  });
  world.secret('dangerous', { baseUrl: 'http://127.0.0.1:8088', token: dangerousToken });
  world.account({ dangerousCredentialsRef: { name: 'dangerous' } });
  world.apply('DisasterProtection', 'orders', {
    ...protection,
    environmentRef: { externalId: 'env_db_prod' },
    target: { environmentName: 'recovered', appName: 'orders-db-recovered', createNewApp: true },
  });
  for (let waited = 0; waited < 300_000 && !isEnrolled(world); waited += 10_000) await world.run(10_000);
}

/** Whether there is a point, and nothing is under way any more. */
function isEnrolled(world: InProcess): boolean {
  const status = statusOf<Partial<ProtectionStatus>>(world, 'DisasterProtection', 'orders');
  return (status.recoveryPoints ?? []).length > 0 && status.activeOperation === undefined;
}

/** An activation of that database that somebody asked for, and that keeps failing until it may be discarded. */
async function failingActivation(world: InProcess): Promise<void> {
  await protectedDatabase(world);
  const { externalId: configurationId, configurationGeneration: generation, recoveryPoints } = protectionOf(world);
  const [point] = recoveryPoints;
  await world.control('PATCH', `/configurations/${configurationId}`, { failSteps: 1_000 });
  const { status } = await world.request('POST', '/disaster-readiness/activate', {
    accountId: 'acc_demo',
    configurationId,
    expectedGeneration: generation,
    requestId: 'by-hand',
    selectedOperationId: point?.selectedOperationId,
    pointId: point?.pointId,
    cutoffAt: point?.cutoffTime,
    target: { envName: 'recovered', appName: 'orders-db-recovered', createNewApp: true },
    writerSafetyAcknowledged: true,
  });
  if (status !== 200) throw new Error(`the activation was answered with ${status}`);
  await world.run(1_000_000);
}

function protectionOf(world: InProcess): ProtectionStatus {
  return statusOf<ProtectionStatus>(world, 'DisasterProtection', 'orders');
}

function validUntil(world: InProcess): string {
  return new Date(world.clock.wall() + 7_200_000).toISOString();
}

/** One entry for each commit of this kind in the service's ledger, whatever the interface shows. */
function commits(kind: string): Life['made'] {
  return async (world) => Array.from({ length: await committed(world, kind) }, (_, index) => `${kind} ${index + 1}`);
}

/** What every request that is made once has in common. */
const once = {
  stays: true,
  rests: 'Succeeded',
  // A process that dies before it took the request up leaves it to nobody.
  unsentWith: ['ActivationDisabled'],
  planted: [dangerousToken],
  options: { powers },
  movesOn: true,
} as const;

export const recoveryLives: readonly Life[] = [
  {
    kind: 'DisasterProtection',
    name: 'web',
    arrange: async () => undefined,
    spec: protection,
    edited: { ...protection, rpoTargetSeconds: 7_200 },
    made: commits('configuration.created'),
    stays: true,
    planted: [],
  },
  {
    ...once,
    kind: 'RecoveryValidation',
    name: 'trial',
    arrange: protectedDatabase,
    spec: { protectionRef: { name: 'orders' } },
    made: commits('validation.accepted'),
  },
  {
    ...once,
    kind: 'RecoveryActivation',
    name: 'now',
    arrange: protectedDatabase,
    spec: (world) => anActivation(world, { validUntil: validUntil(world) }),
    made: commits('activation.accepted'),
  },
  {
    ...once,
    kind: 'ActivationDiscard',
    name: 'stop',
    arrange: failingActivation,
    spec: (world) => ({
      protectionRef: { name: 'orders' },
      configurationId: protectionOf(world).externalId,
      operationId: protectionOf(world).activeOperation?.operationId,
      configurationGeneration: protectionOf(world).configurationGeneration,
      acknowledgements: ['DiscardsRecoveredData'],
      validUntil: validUntil(world),
    }),
    made: commits('discard.accepted'),
  },
  {
    ...once,
    kind: 'DisasterReset',
    name: 'wipe',
    arrange: protectedDatabase,
    spec: (world) => ({
      scope: 'Environment',
      environmentRef: { externalId: 'env_db_prod' },
      configurationId: protectionOf(world).externalId,
      configurationGeneration: protectionOf(world).configurationGeneration,
      confirmation: 'production',
      acknowledgements: ['DeletesProtectionAndLeftovers'],
      validUntil: validUntil(world),
    }),
    made: commits('configuration.wiped'),
  },
];
