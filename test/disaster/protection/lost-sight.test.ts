/** A list that suddenly shows no configuration at all proves nothing: neither that it is gone, nor how anything ended. */
import { describe, expect, it } from 'vitest';
import type { InProcess } from '../../support/in-process.ts';
import {
  aDiscard,
  anActivation,
  aProtectedWorld,
  aReset,
  committed,
  conditionOf,
  disaster,
  edit,
  failingActivation,
  protection,
  statusOf,
  validUntil,
  wipedByHand,
} from '../support.ts';

const kind = 'DisasterProtection';

/** From now on the list of configurations is a page without items; everything else is as it is. */
function blind(world: InProcess): void {
  world.interference = ({ method, path }) =>
    method === 'GET' && path === `${disaster}/configurations`
      ? { insteadOf: { status: 200, text: '{"items":[]}' } }
      : undefined;
}

function seeing(world: InProcess): void {
  world.interference = () => undefined;
}

/** What a condition says, looked at every second. */
async function said(
  world: InProcess,
  ms: number,
  [of, name, type]: readonly [string, string, string],
): Promise<ReadonlySet<string | undefined>> {
  const all = new Set<string | undefined>();
  for (let elapsedMs = 0; elapsedMs < ms; elapsedMs += 1_000) {
    await world.run(1_000);
    all.add(conditionOf(world, of, name, type));
  }
  return all;
}

/** Gives the account a word that accepts the loss. */
function accept(world: InProcess): void {
  const spec = world.get('HostingAccount', 'default')?.spec as object;
  world.apply('HostingAccount', 'default', spec, { 'apphosting.dev/accept-missing': 'we know' });
}

interface Row {
  readonly because: string;
  readonly what: readonly [kind: string, name: string];
  /** Asks for it; what it asks for is under way when this is done. */
  readonly asked: (world: InProcess) => Promise<void>;
  readonly ends: string;
}

const rows: readonly Row[] = [
  {
    because: 'an activation that was accepted',
    what: ['RecoveryActivation', 'now'],
    asked: async (world) => {
      world.apply('RecoveryActivation', 'now', anActivation(world));
      await world.run(20_000);
      expect(conditionOf(world, 'RecoveryActivation', 'now', 'Accepted')).toBe('True/Accepted');
    },
    ends: 'True/Succeeded',
  },
  {
    because: 'an activation that nothing was sent of',
    what: ['RecoveryActivation', 'now'],
    asked: async (world) => {
      blind(world);
      await world.run(70_000);
      world.apply('RecoveryActivation', 'now', anActivation(world));
    },
    ends: 'True/Succeeded',
  },
  {
    because: 'a validation that was accepted',
    what: ['RecoveryValidation', 'trial'],
    asked: async (world) => {
      await world.control('PATCH', `/configurations/${protection(world).externalId}`, { hold: true });
      world.apply('RecoveryValidation', 'trial', { protectionRef: { name: 'orders' } });
      await world.run(20_000);
      await world.control('PATCH', `/configurations/${protection(world).externalId}`, { hold: false });
    },
    ends: 'True/Succeeded',
  },
  {
    because: 'a discard that was accepted',
    what: ['ActivationDiscard', 'stop'],
    asked: async (world) => {
      const { externalId: configurationId } = protection(world);
      await failingActivation(world);
      await world.control('PATCH', `/configurations/${configurationId}`, { hold: true });
      world.apply('ActivationDiscard', 'stop', aDiscard(world));
      await world.run(5_000);
      expect(conditionOf(world, 'ActivationDiscard', 'stop', 'Accepted')).toBe('True/Accepted');
      await world.control('PATCH', `/configurations/${configurationId}`, { hold: false });
    },
    ends: 'True/Succeeded',
  },
  {
    because: 'a reset whose answer was lost and that was never carried out',
    what: ['DisasterReset', 'wipe'],
    asked: async (world) => {
      let lost = false;
      world.interference = ({ path }) => {
        if (lost || path !== `${disaster}/reset`) return undefined;
        lost = true;
        return 'loseBefore';
      };
      world.apply('DisasterReset', 'wipe', aReset(world));
      await world.run(5_000);
      expect(await committed(world, 'configuration.wiped')).toBe(0);
    },
    ends: 'True/Succeeded',
  },
];

describe('while the list of configurations shows none for ten minutes', () => {
  it.each(rows)('nothing is said to have ended that has not: $because', async ({ what, asked, ends }) => {
    const world = await aProtectedWorld();
    await asked(world);
    blind(world);
    const meanwhile = await said(world, 600_000, [...what, 'Succeeded']);
    seeing(world);
    await world.run(1_500_000);

    for (const word of meanwhile) expect(word ?? 'Unknown').toMatch(/^Unknown/);
    expect(conditionOf(world, ...what, 'Succeeded')).toBe(ends);
  });

  it.each(['goes on', 'is started again'])(
    'the account says so, and the protection is not said to be gone: the operator %s',
    async (how) => {
      const world = await aProtectedWorld();
      blind(world);
      if (how === 'is started again') await world.crash();
      const meanwhile = await said(world, 600_000, [kind, 'orders', 'Ready']);
      const account = conditionOf(world, 'HostingAccount', 'default', 'Ready');
      seeing(world);
      await world.run(120_000);

      expect(account).toBe('False/VisibilityLost');
      expect([...meanwhile].filter((word) => word !== 'True/InSync')).toEqual(['False/VisibilityLost']);
      expect(conditionOf(world, 'HostingAccount', 'default', 'Ready')).toBe('True/InSync');
      expect(conditionOf(world, kind, 'orders', 'Ready')).toBe('True/InSync');
    },
  );
});

describe('a list of configurations that stays empty', () => {
  it('proves nothing while another list shows the environment with its configuration, until the loss is accepted', async () => {
    const world = await aProtectedWorld();
    blind(world);
    await world.run(7_200_000);
    expect(conditionOf(world, kind, 'orders', 'Ready')).toBe('False/VisibilityLost');
    expect(conditionOf(world, 'HostingAccount', 'default', 'Ready')).toBe('False/VisibilityLost');

    accept(world);
    await world.run(300_000);
    expect(conditionOf(world, kind, 'orders', 'Ready')).toBe('False/ConfigurationGone');
    expect(conditionOf(world, 'HostingAccount', 'default', 'Ready')).toBe('True/InSync');

    seeing(world);
    await world.run(130_000);
    expect(conditionOf(world, kind, 'orders', 'Ready')).toBe('True/InSync');
    expect(conditionOf(world, kind, 'orders', 'RecoveryReady')).toBe('True/RecoveryReady');
    expect(statusOf(world, kind, 'orders')).not.toHaveProperty('goneTime');
  });

  it('holds what would be made or deleted in the account', async () => {
    const world = await aProtectedWorld();
    blind(world);
    await world.run(70_000);
    world.apply('ContactPoint', 'late', { email: { addresses: ['a@example.com'] } });
    await world.run(60_000);
    expect(conditionOf(world, 'ContactPoint', 'late', 'Ready')).toBe('False/VisibilityLost');

    seeing(world);
    await world.run(120_000);
    expect(conditionOf(world, 'ContactPoint', 'late', 'Ready')).toBe('True/InSync');
  });

  it.each(['all', 'minimal'])(
    'is believed when the only protection was wiped outside, however much the service discloses: %s',
    async (disclosed) => {
      const world = await aProtectedWorld({ readings: { 'dr.disclosed': disclosed } });
      await wipedByHand(world);
      await world.run(360_000);

      expect(conditionOf(world, kind, 'orders', 'Ready')).toBe('False/ConfigurationGone');
      expect(conditionOf(world, 'HostingAccount', 'default', 'Ready')).toBe('True/InSync');
    },
  );

  it('is no loss where a DisasterReset has wiped the only protection', async () => {
    const world = await aProtectedWorld();
    world.apply('DisasterReset', 'wipe', aReset(world));
    const account = await said(world, 600_000, ['HostingAccount', 'default', 'Ready']);

    expect(account).toEqual(new Set(['True/InSync']));
    expect(conditionOf(world, 'DisasterReset', 'wipe', 'Succeeded')).toBe('True/Succeeded');
    expect(conditionOf(world, kind, 'orders', 'Ready')).toBe('False/WipedByReset');
  });

  it('is no loss either where a DisasterReset has wiped the account', async () => {
    const world = await aProtectedWorld({ powers: { activation: true, accountReset: true } });
    const { externalId: configurationId, configurationGeneration: generation } = protection(world);
    world.apply('DisasterReset', 'all', {
      scope: 'Account',
      configurations: [{ configurationId, configurationGeneration: generation }],
      confirmation: 'Demo',
      acknowledgements: ['DeletesProtectionAndLeftovers'],
      validUntil: validUntil(world),
    });
    const account = await said(world, 300_000, ['HostingAccount', 'default', 'Ready']);

    expect(account).toEqual(new Set(['True/InSync']));
    expect(conditionOf(world, 'DisasterReset', 'all', 'Succeeded')).toBe('True/Succeeded');
  });

  it('lets an enrollment that was raised after an outside wipe go on once that is proved', async () => {
    const world = await aProtectedWorld();
    await wipedByHand(world);
    edit(world, { enrollment: 2 });
    await world.run(120_000);
    expect(await committed(world, 'configuration.created')).toBe(1);

    await world.run(1_200_000);
    expect(await committed(world, 'configuration.created')).toBe(2);
    expect(conditionOf(world, kind, 'orders', 'Ready')).toBe('True/InSync');
    expect(statusOf(world, kind, 'orders')).not.toHaveProperty('goneTime');
  });
});

describe('a protection that was proved gone', () => {
  it.each(['while the reset is there', 'when the reset is deleted'])(
    'stays so when the operator is started again, in the words that it had, %s',
    async (how) => {
      const world = await aProtectedWorld();
      world.apply('DisasterReset', 'wipe', aReset(world));
      await world.run(300_000);
      if (how === 'when the reset is deleted') world.delete('DisasterReset', 'wipe');
      const ready = new Set<string | undefined>();
      const recovery = new Set<string | undefined>();
      const account = new Set<string | undefined>();
      await world.crash();
      for (let elapsedMs = 0; elapsedMs < 300_000; elapsedMs += 1_000) {
        ready.add(conditionOf(world, kind, 'orders', 'Ready'));
        recovery.add(conditionOf(world, kind, 'orders', 'RecoveryReady'));
        account.add(conditionOf(world, 'HostingAccount', 'default', 'Ready'));
        await world.run(1_000);
      }

      expect(ready).toEqual(new Set(['False/WipedByReset']));
      expect(recovery).toEqual(new Set(['False/WipedByReset']));
      expect(account).toEqual(new Set(['True/InSync']));
      expect(statusOf(world, kind, 'orders')).toMatchObject({ wipedBy: 'DisasterReset team/wipe' });
    },
  );
});

describe('a validation that waits, and whose configuration two lists lack on different days', () => {
  it('goes on when it may, since each was one look', async () => {
    const world = await aProtectedWorld();
    const { externalId: configurationId } = protection(world);
    await world.control('PATCH', `/configurations/${configurationId}`, { hold: true });
    world.apply('RecoveryActivation', 'now', anActivation(world));
    await world.run(20_000);
    world.apply('RecoveryValidation', 'trial', { protectionRef: { name: 'orders' } });
    await world.run(20_000);
    expect(conditionOf(world, 'RecoveryValidation', 'trial', 'Ready')).toBe('False/OperationInProgress');
    const heard: (string | undefined)[] = [];

    for (let day = 0; day < 2; day += 1) {
      let left = 1;
      world.interference = ({ method, path }) => {
        if (left === 0 || method !== 'GET' || path !== `${disaster}/configurations`) return undefined;
        left -= 1;
        return { insteadOf: { status: 200, text: '{"items":[{"configurationId":"drc_other","generation":1}]}' } };
      };
      for (let elapsedMs = 0; elapsedMs < 60_000; elapsedMs += 1_000) {
        await world.run(1_000);
        heard.push(conditionOf(world, 'RecoveryValidation', 'trial', 'Ready'));
      }
      await world.run(1_200_000);
    }

    expect(new Set(heard)).toEqual(new Set(['False/OperationInProgress', 'False/ObjectMissing']));
    await world.control('PATCH', `/configurations/${configurationId}`, { hold: false });
    await world.run(1_800_000);
    expect(conditionOf(world, 'RecoveryValidation', 'trial', 'Ready')).not.toBe('False/Superseded');
  });
});
