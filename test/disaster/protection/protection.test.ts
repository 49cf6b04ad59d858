import { describe, expect, it } from 'vitest';
import { InProcess } from '../../support/in-process.ts';
import {
  anActivation,
  aProtectedWorld,
  aProtection,
  committed,
  conditionOf,
  disaster,
  protection,
  sentenceOf,
} from '../support.ts';

describe('a protection', () => {
  it.each(['loseBefore', 'loseAnswer', 'hangAfter', { insteadOf: { status: 500 } }] as const)(
    'is set up once and changed once under %o',
    async (what) => {
      const world = new InProcess();
      let count = 0;
      world.interference = ({ path }) =>
        path === `${disaster}/configure` && (count += 1) % 3 !== 0 ? what : undefined;
      await world.start();
      world.account();
      const spec = {
        environmentRef: { externalId: 'env_web_prod' },
        destinationRegion: 'us-east',
        protectionMode: 'Cold',
        snapshotIntervalSeconds: 300,
      };
      world.apply('DisasterProtection', 'web', spec);
      await world.run(30_000);
      await world.crash();
      await world.run(600_000);
      world.apply('DisasterProtection', 'web', { ...spec, rpoTargetSeconds: 7_200 });
      await world.run(900_000);

      expect(await committed(world, 'configuration.created')).toBe(1);
      expect(await committed(world, 'configuration.edited')).toBe(1);
      expect(conditionOf(world, 'DisasterProtection', 'web', 'Ready')).toBe('True/InSync');
    },
  );

  it('that the service refused is told in the words of the spec, and sent again after ten minutes, and at once after reconcile-at or with another token', async () => {
    const world = new InProcess();
    await world.start();
    world.account();
    const spec = { environmentRef: { externalId: 'env_web_prod' }, snapshotIntervalSeconds: 61 };
    const sent = () => world.sent.filter(({ path }) => path === `${disaster}/configure`).length;
    world.apply('DisasterProtection', 'web', spec);
    await world.run(300_000);
    expect(sent()).toBe(1);
    expect(sentenceOf(world, 'DisasterProtection', 'web')).toContain('spec.snapshotIntervalSeconds does not map');

    world.apply('DisasterProtection', 'web', spec, { 'apphosting.dev/reconcile-at': '1' });
    await world.run(10_000);
    expect(sent()).toBe(2);
    world.secret('hosting-credentials', { baseUrl: 'http://127.0.0.1:8088', token: 'demo-admin-no-secrets' });
    await world.run(20_000);
    expect(sent()).toBe(3);
    await world.run(500_000);
    expect(sent()).toBe(3);
    await world.run(120_000);
    expect(sent()).toBe(4);
    expect(conditionOf(world, 'DisasterProtection', 'web', 'Ready')).toBe('False/Rejected');
  });

  it('stays Ready when readiness lapses, and says so in its own condition', async () => {
    const world = await aProtectedWorld();
    const { externalId: configurationId } = protection(world);
    for (const [reason, expected] of [
      ['chainRollover', 'False/ChainRollover'],
      ['catchingUp', 'False/CatchingUp'],
      ['rpoExceeded', 'False/RpoExceeded'],
      ['somethingNew', 'False/NeedsAttention'],
    ] as const) {
      const readiness = { state: 'needsAttention', reason, warnings: [] };
      await world.control('PATCH', `/configurations/${configurationId}`, { readiness });
      await world.run(90_000);

      expect(conditionOf(world, 'DisasterProtection', 'orders', 'RecoveryReady')).toBe(expected);
      expect(conditionOf(world, 'DisasterProtection', 'orders', 'Ready')).toBe('True/InSync');
    }
  });

  it('is counted with the reason why a recovery would not work, so that nobody is woken while it is prepared', async () => {
    const world = new InProcess();
    await world.start();
    world.account();
    world.apply('DisasterProtection', 'orders', aProtection);
    await world.run(5_000);

    expect(world.operator.engine.metricsSnapshot().conditions).toContainEqual({
      kind: 'DisasterProtection',
      type: 'RecoveryReady',
      status: 'Unknown',
      reason: 'Preparing',
      count: 1,
    });
  });

  it('is never Ready on a word that nobody explained', async () => {
    const world = await aProtectedWorld({ readings: { 'dr.readinessWord': 'protected' } });

    expect(conditionOf(world, 'DisasterProtection', 'orders', 'RecoveryReady')).toBe('Unknown/UnknownState');
    expect(conditionOf(world, 'DisasterProtection', 'orders', 'Ready')).toBe('False/Preparing');
  });

  it('warm shows its standby and is taken over under exactly its names', async () => {
    const world = await aProtectedWorld({}, { protectionMode: 'Warm' });
    await world.run(1_800_000);
    expect(conditionOf(world, 'DisasterProtection', 'orders', 'StandbyCaughtUp')).toBe('True/CaughtUp');

    const wrong = anActivation(world, { target: { environmentName: 'other', appName: 'x', createNewApp: true } });
    world.apply('RecoveryActivation', 'wrong', wrong);
    world.apply('RecoveryActivation', 'right', anActivation(world));
    await world.run(900_000);

    expect(conditionOf(world, 'RecoveryActivation', 'wrong', 'Accepted')).toMatch(
      /False\/(DestinationMismatch|AlreadyActivated)/,
    );
    expect(conditionOf(world, 'RecoveryActivation', 'right', 'Succeeded')).toBe('True/Succeeded');
    expect(await committed(world, 'activation.accepted')).toBe(1);
  });

  it('keeps an edit back for an activation whose end is not shown, says how to let it go, and sends it then', async () => {
    const world = await aProtectedWorld({ readings: { 'dr.disclosed': 'minimal' } });
    world.apply('RecoveryActivation', 'now', anActivation(world));
    await world.run(1_200_000);
    world.apply('DisasterProtection', 'orders', { ...aProtection, rtoTargetSeconds: 7_200 });
    await world.run(600_000);
    expect(conditionOf(world, 'RecoveryActivation', 'now', 'Ready')).toBe('False/NotDisclosed');
    expect(sentenceOf(world, 'DisasterProtection', 'orders')).toBe(
      'new settings wait until RecoveryActivation team/now has ended. To send the settings earlier, check in the service that no operation is in progress, then delete RecoveryActivation team/now',
    );
    expect(await committed(world, 'configuration.edited')).toBe(0);

    world.delete('RecoveryActivation', 'now');
    await world.run(60_000);

    expect(await committed(world, 'configuration.edited')).toBe(1);
    expect(conditionOf(world, 'DisasterProtection', 'orders', 'Ready')).toBe('True/InSync');
  });
});
