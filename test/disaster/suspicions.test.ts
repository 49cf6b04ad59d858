import { messageOf, withInternal } from '../kinds/support/world.ts';
/** Ways in which a request could reach what nobody approved, or be told to have ended well; each was tried once as an attack. */
import { describe, expect, it } from 'vitest';
import type { InProcess } from '../support/in-process.ts';
import {
  aDiscard,
  anActivation,
  aProtectedWorld,
  aReset,
  committed,
  conditionOf,
  disaster,
  edit,
  editedByHand,
  failingActivation,
  protection,
  sentenceOf,
  wipedByHand,
} from './support.ts';

describe('a journal that somebody damaged', () => {
  const requests: readonly (readonly [kind: string, spec: (world: InProcess) => object, path: string])[] = [
    ['RecoveryActivation', anActivation, `${disaster}/activate`],
    ['RecoveryValidation', () => ({ protectionRef: { name: 'orders' } }), `${disaster}/validate`],
    ['DisasterReset', aReset, `${disaster}/reset`],
  ];

  it.each(requests.flatMap((row) => ['{"oops', 'null', '[]', '{}'].map((payload) => [...row, payload] as const)))(
    'ends a %s and sends nothing of it',
    async (kind, spec, path, payload) => {
      const world = await aProtectedWorld();
      let sent = 0;
      world.interference = (request) => {
        if (request.path !== path) return undefined;
        sent += 1;
        return 'loseBefore';
      };
      world.apply(kind, 'now', spec(world));
      await world.run(5_000);
      world.kill();
      world.tamper(
        kind,
        'now',
        withInternal((internal) => ({ ...internal, journal: { ...(internal['journal'] as object), payload } })),
      );
      const before = sent;
      await world.crash();
      await world.run(400_000);

      expect(before).toBe(1);
      expect(sent).toBe(before);
      expect(conditionOf(world, kind, 'now', 'Succeeded')).toBe('False/JournalDamaged');
    },
  );

  it.each(['{"oops', 'null', '[]', '{}', '{"items":[]}'])(
    'stops a protection until somebody has removed it: %s',
    async (payload) => {
      const world = await aProtectedWorld();
      world.interference = ({ path }) => (path === `${disaster}/configure` ? 'loseBefore' : undefined);
      edit(world, { rtoTargetSeconds: 3_600 });
      await world.run(5_000);
      world.kill();
      world.tamper(
        'DisasterProtection',
        'orders',
        withInternal((internal) => ({ ...internal, journal: { ...(internal['journal'] as object), payload } })),
      );
      world.interference = () => undefined;
      await world.crash();
      await world.run(400_000);
      expect(await committed(world, 'configuration.edited')).toBe(0);
      expect(conditionOf(world, 'DisasterProtection', 'orders', 'Ready')).toBe('False/JournalDamaged');

      world.tamper(
        'DisasterProtection',
        'orders',
        withInternal(({ journal: _removed, ...internal }) => internal),
      );
      await world.run(400_000);
      expect(await committed(world, 'configuration.edited')).toBe(1);
      expect(conditionOf(world, 'DisasterProtection', 'orders', 'Ready')).toBe('True/InSync');
    },
  );
});

describe('an answer that says yes without a receipt', () => {
  it('is no proof of a discard', async () => {
    const world = await aProtectedWorld();
    await failingActivation(world);
    let count = 0;
    world.interference = ({ path }) =>
      path === `${disaster}/discard-activation` && (count += 1) === 1
        ? { insteadOf: { status: 200, text: '{}' } }
        : undefined;
    world.apply('ActivationDiscard', 'stop', aDiscard(world));
    await world.run(600_000);

    expect(await committed(world, 'discard.accepted')).toBe(1);
    expect(conditionOf(world, 'ActivationDiscard', 'stop', 'Succeeded')).toBe('True/Succeeded');
  });

  it('is one when it names an operation of its own', async () => {
    const world = await aProtectedWorld({ readings: { 'rejection.status': '409' } });
    const { externalId: configurationId, configurationGeneration: generation } = protection(world);
    await failingActivation(world);
    const receipt = { configurationId, generation, operationId: 'op_cleanup', phase: 'queued' };
    world.interference = ({ path }) =>
      path === `${disaster}/discard-activation`
        ? { afterwards: { status: 200, text: JSON.stringify(receipt) } }
        : undefined;
    world.apply('ActivationDiscard', 'stop', aDiscard(world));
    await world.run(5_000);
    expect(conditionOf(world, 'ActivationDiscard', 'stop', 'Accepted')).toBe('True/Accepted');
    await world.run(600_000);

    expect(await committed(world, 'discard.accepted')).toBe(1);
    expect(conditionOf(world, 'ActivationDiscard', 'stop', 'Succeeded')).toBe('True/Succeeded');
  });

  it('is no proof of a reset', async () => {
    const world = await aProtectedWorld();
    let count = 0;
    world.interference = ({ path }) =>
      path === `${disaster}/reset` && (count += 1) === 1 ? { insteadOf: { status: 200, text: '{}' } } : undefined;
    world.apply('DisasterReset', 'wipe', aReset(world));
    await world.run(10_000);
    expect(conditionOf(world, 'DisasterReset', 'wipe', 'Accepted')).toBe('Unknown/InDoubt');
    await world.run(600_000);

    expect(await committed(world, 'configuration.wiped')).toBe(1);
    expect(conditionOf(world, 'DisasterReset', 'wipe', 'Succeeded')).toBe('True/Succeeded');
  });
});

describe('a reset by somebody else', () => {
  it('is not told as the answer of the service to ours', async () => {
    const world = await aProtectedWorld();
    world.interference = ({ path }) => (path === `${disaster}/reset` ? 'loseBefore' : undefined);
    world.apply('DisasterReset', 'wipe', aReset(world));
    await world.run(60_000);
    await wipedByHand(world);
    await world.run(600_000);

    expect(conditionOf(world, 'DisasterReset', 'wipe', 'Succeeded')).toBe('True/Succeeded');
    expect(messageOf(world, 'DisasterReset', 'wipe', 'Accepted')).toBe(
      'the service accepted the request, or shows an effect that somebody else may have caused',
    );
  });
});

describe('an approval of what has changed since', () => {
  it('wipes nothing after a restart, when nobody knows whether it was sent', async () => {
    const world = await aProtectedWorld();
    world.interference = ({ path }) => {
      if (path !== `${disaster}/reset`) return undefined;
      world.kill();
      return 'loseBefore';
    };
    world.apply('DisasterReset', 'wipe', aReset(world));
    await world.run(5_000);
    await editedByHand(world);
    world.interference = () => undefined;
    await world.crash();
    await world.run(600_000);

    expect(await committed(world, 'configuration.wiped')).toBe(0);
    expect(conditionOf(world, 'DisasterReset', 'wipe', 'Succeeded')).toBe('False/Superseded');
  });
});

describe('an activation that somebody else made at the same moment', () => {
  it('is never told to be ours, even when the resource is applied again', async () => {
    const world = await aProtectedWorld();
    const spec = anActivation(world);
    const { recoveryPoints, externalId: configurationId, configurationGeneration: generation } = protection(world);
    const [point] = recoveryPoints;
    let sent = false;
    world.interference = ({ path }) => {
      if (path !== `${disaster}/activate`) return undefined;
      sent = true;
      return 'loseBefore';
    };
    world.apply('RecoveryActivation', 'now', spec);
    await world.run(3_000);
    expect(sent).toBe(true);
    await world.request('POST', '/disaster-readiness/activate', {
      accountId: 'acc_demo',
      configurationId,
      expectedGeneration: generation,
      requestId: 'by-hand',
      selectedOperationId: point?.selectedOperationId,
      pointId: point?.pointId,
      cutoffAt: point?.cutoffTime,
      target: { envName: 'by-hand', appName: 'by-hand', createNewApp: true },
      writerSafetyAcknowledged: true,
    });
    await world.control('PATCH', `/configurations/${configurationId}`, { hold: true });
    world.interference = () => undefined;
    await world.run(90_000);
    world.delete('RecoveryActivation', 'now');
    await world.run(200_000);
    world.apply('RecoveryActivation', 'now', spec);
    await world.run(60_000);
    await world.control('PATCH', `/configurations/${configurationId}`, { hold: false });
    await world.run(600_000);

    expect(await committed(world, 'activation.accepted')).toBe(1);
    expect(conditionOf(world, 'RecoveryActivation', 'now', 'Succeeded')).toMatch(/^False/);
    expect(conditionOf(world, 'RecoveryActivation', 'now', 'Promoted')).not.toMatch(/^True/);
  });
});

describe('an account that belongs to others too', () => {
  it.each(['Environment', 'Account'])(
    'is not wiped by a reset of scope %s that names what this namespace did not make',
    async (scope) => {
      const world = await aProtectedWorld({ powers: { activation: true, accountReset: true } });
      const { externalId: configurationId, configurationGeneration: generation } = protection(world);
      world.account({ lifecycle: { adoption: 'Never' } });
      await world.run(30_000);
      const pinned = [{ configurationId, configurationGeneration: generation }];
      const {
        environmentRef: _env,
        configurationId: _id,
        configurationGeneration: _generation,
        ...rest
      } = aReset(world) as Readonly<Record<string, unknown>>;
      world.apply(
        'DisasterReset',
        'wipe',
        scope === 'Environment' ? aReset(world) : { ...rest, scope, configurations: pinned, confirmation: 'Demo' },
      );
      await world.run(300_000);

      expect(await committed(world, 'configuration.wiped')).toBe(0);
      expect(conditionOf(world, 'DisasterReset', 'wipe', 'Succeeded')).toBe('False/AdoptionNotAllowed');
    },
  );
});

describe('readiness', () => {
  it.each([
    ['the service fails', 500],
    ['the token is refused', 401],
  ])('is not claimed from what was read hours ago, while %s', async (_how, status) => {
    const world = await aProtectedWorld();
    expect(conditionOf(world, 'DisasterProtection', 'orders', 'RecoveryReady')).toBe('True/RecoveryReady');
    world.interference = () => ({ insteadOf: { status } });
    await world.run(7_200_000);
    expect(conditionOf(world, 'DisasterProtection', 'orders', 'RecoveryReady')).toMatch(/^Unknown/);

    world.interference = () => undefined;
    await world.run(1_800_000);
    expect(conditionOf(world, 'DisasterProtection', 'orders', 'RecoveryReady')).toBe('True/RecoveryReady');
  });

  it('of a new enrollment is its own, and so are its points', async () => {
    const world = await aProtectedWorld();
    const old = protection(world);
    world.apply('DisasterReset', 'wipe', aReset(world));
    await world.run(300_000);
    world.interference = ({ path }) => {
      const { externalId: configurationId } = protection(world);
      if (configurationId !== old.externalId)
        void world.control('PATCH', `/configurations/${configurationId}`, { hold: true });
      return path.endsWith('/points') ? { insteadOf: { status: 500 } } : undefined;
    };
    edit(world, { enrollment: 2 });
    await world.run(30_000);

    expect(protection(world).externalId).not.toBe(old.externalId);
    expect(conditionOf(world, 'DisasterProtection', 'orders', 'Ready')).not.toMatch(/^True/);
    expect(protection(world).recoveryPoints ?? []).toEqual([]);
  });
});

describe('a protection', () => {
  it('follows its reference to no other environment', async () => {
    const world = await aProtectedWorld();
    world.apply('AppEnvironment', 'web', { externalId: 'env_web_prod' });
    await world.run(5_000);
    const spec = { environmentRef: { name: 'web' }, destinationRegion: 'us-east', protectionMode: 'Cold' };
    world.apply('DisasterProtection', 'web', spec);
    await world.run(60_000);
    const foreign = protection(world).configurationGeneration;
    world.delete('AppEnvironment', 'web');
    await world.run(5_000);
    world.apply('AppEnvironment', 'web', { externalId: 'env_db_prod' });
    await world.run(5_000);
    world.apply('DisasterProtection', 'web', { ...spec, rtoTargetSeconds: 86_400 });
    await world.run(120_000);

    expect(protection(world).configurationGeneration).toBe(foreign);
    expect(await committed(world, 'configuration.edited')).toBe(0);
    expect(conditionOf(world, 'DisasterProtection', 'web', 'Ready')).toBe('False/EnvironmentChanged');
  });

  it('is not enrolled anew while a reset of the old one may still arrive', async () => {
    const world = await aProtectedWorld();
    world.interference = ({ path }) => (path === `${disaster}/reset` ? { lateMs: 25_000 } : undefined);
    world.apply('DisasterReset', 'wipe', aReset(world));
    await world.run(5_000);
    world.interference = () => undefined;
    await wipedByHand(world);
    edit(world, { enrollment: 2 });
    await world.run(600_000);

    expect(await committed(world, 'configuration.wiped')).toBe(1);
    expect(await committed(world, 'configuration.created')).toBe(2);
    expect(conditionOf(world, 'DisasterProtection', 'orders', 'Ready')).toBe('True/InSync');
  });

  it('whose edit came too late reads again, compares, and only then edits', async () => {
    const world = await aProtectedWorld();
    let calls = 0;
    let byHand: Promise<void> = Promise.resolve();
    world.interference = ({ path }) => {
      if (path === `${disaster}/configure` && (calls += 1) === 1) byHand = editedByHand(world);
      return undefined;
    };
    edit(world, { rpoTargetSeconds: 7_200 });
    await world.run(300_000);
    await byHand;

    const { body } = await world.request('GET', '/disaster-readiness/configurations?accountId=acc_demo');
    const [item] = (body as { items: readonly { settings: object }[] }).items;
    expect(item?.settings).toMatchObject({ rtoTargetMs: 7_200_000, rpoTargetMs: 7_200_000 });
    expect(sentenceOf(world, 'DisasterProtection', 'orders')).toBe('the service equals the spec');
    expect(await committed(world, 'configuration.edited')).toBe(2);
  });
});
