import fc from 'fast-check';
import { expect, it } from 'vitest';
import { type Configuration, type Fields, MINUTE, type Point, setting, type Setting, WARM } from './setting.ts';

const FIRST = { accountId: 'acc_demo', sourceAppEnvId: 'env_web_prod' };
const PHASES = ['queued', 'restoring', 'promoting', 'starting', 'promoted', 'handingOver', 'cleaning', 'failed'];

/** One thing that somebody does, with what is there now. */
type Deed = (at: Setting, now: Configuration | undefined, point: Point | undefined) => Promise<unknown>;

const configures = fc.record({ warm: fc.boolean(), generation: fc.nat({ max: 3 }) }).map(
  ({ warm, generation }): Deed =>
    (at, now) =>
      at.configure([at.item({ ...(warm ? WARM : {}), expectedGeneration: now?.generation ?? generation })]),
);

const calls = fc.constantFrom('validate', 'activate', 'activate', 'discard-activation').map(
  (call): Deed =>
    (at, now, point) =>
      at.post(call, bodyOf(call, at, now, point)),
);

const resets = fc.constant<Deed>((at, now, point) => at.post('reset', bodyOf('reset', at, now, point)));

const words = fc.oneof(
  fc.constantFrom(...PHASES).map((setPhase): Fields => ({ setPhase })),
  fc.nat({ max: 8 }).map((failSteps): Fields => ({ failSteps })),
  fc.boolean().map((hold): Fields => ({ hold })),
  fc.boolean().map((caughtUp): Fields => ({ standby: { caughtUp } })),
  fc.constantFrom('pass', 'fail', 'cleanupUnverifiable').map((nextValidation): Fields => ({ nextValidation })),
  fc.constantFrom<Fields>(
    { nextPhase: true },
    { firstCopyBytes: 1e12 },
    { applySeconds: 0 },
    { validationCleanup: null },
  ),
);

const tells = words.map(
  (told): Deed =>
    (at, now) =>
      at.tell(now?.configurationId ?? 'drc_none', told),
);

const waits = fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 600 })).map(
  (minutes): Deed =>
    (at) =>
      Promise.resolve(at.advance(minutes * MINUTE)),
);

const outages = fc.record({ region: fc.constantFrom('eu-west', 'us-east'), up: fc.boolean() }).map(
  ({ region, up }): Deed =>
    (at) =>
      at.control('PATCH', `/regions/${region}`, { up }),
);

function bodyOf(call: string, at: Setting, now: Configuration | undefined, point: Point | undefined): Fields {
  const { accountId, sourceAppEnvId } = FIRST;
  if (call === 'reset') return { accountId, sourceAppEnvId, scope: 'environment', confirmationName: 'production' };
  const { configurationId = 'drc_none', generation: expectedGeneration = 0, activeOperationId } = now ?? {};
  const pinned = { accountId, configurationId, expectedGeneration, requestId: at.reference() };
  if (call === 'validate') return pinned;
  if (call !== 'activate') return { ...pinned, operationId: activeOperationId ?? 'none', discardAcknowledged: true };
  const { selectedOperationId = 'none', pointId = 'f'.repeat(64), cutoffAt = '2026-01-01T00:00:00Z' } = point ?? {};
  const target = now?.warmDestination ?? { envName: 'recovered' };
  return { ...pinned, selectedOperationId, pointId, cutoffAt, target, writerSafetyAcknowledged: true };
}

async function current(at: Setting): Promise<readonly [Configuration | undefined, Point | undefined]> {
  const { body } = await at.list<Configuration>('configurations');
  const [now] = body.items;
  return [now, now === undefined ? undefined : (await at.points(now.configurationId)).body.items[0]];
}

it('keeps its promises whatever is done in whatever order', async () => {
  const deed = fc.oneof(
    { weight: 1, arbitrary: configures },
    { weight: 1, arbitrary: resets },
    { weight: 1, arbitrary: outages },
    { weight: 6, arbitrary: calls },
    { weight: 4, arbitrary: tells },
    { weight: 6, arbitrary: waits },
  );

  await fc.assert(
    fc.asyncProperty(fc.array(deed, { minLength: 5, maxLength: 40 }), async (deeds) => {
      const at = setting();
      await at.protect();
      for (const does of deeds) {
        const seen = await does(at, ...(await current(at)));
        expect(seen).not.toMatchObject({ status: 500 });
        const [now] = await current(at);
        if (now?.readiness.state === 'ready') expect(now.readiness.cutoffAt).toBeDefined();
        if (now?.warmRecoveryOperationId !== undefined) {
          expect(now.warmRecoveryOperationId).toBe(now.activeOperationId);
        }
      }
      const promoted = await at.ledger('activation.promoted');
      const accepted = await at.ledger('activation.accepted');
      expect(await at.ledger('environment.created')).toHaveLength(promoted.length);
      expect(new Set(promoted.map(({ id }) => id)).size).toBe(promoted.length);
      expect(accepted.map(({ id }) => id)).toEqual(expect.arrayContaining(promoted.map(({ id }) => id)));
    }),
    { numRuns: 60 },
  );
});
