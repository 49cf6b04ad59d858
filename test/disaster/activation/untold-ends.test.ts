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
  failingActivation,
  flaws,
  protection,
  sentenceOf,
  wipedByHand,
} from '../support.ts';

const activation = 'RecoveryActivation';
const minimal = { 'dr.disclosed': 'minimal' } as const;
const hour = 3_600_000;

/** Accepted, Promoted and Succeeded of an activation. */
function saidOf(world: InProcess): readonly (string | undefined)[] {
  return ['Accepted', 'Promoted', 'Succeeded'].map((type) => conditionOf(world, activation, 'now', type));
}

/** The service does what the first such call asks for, and the operator dies before the answer. */
function diesAt(world: InProcess, end: string): void {
  let died = false;
  world.interference = ({ path }) => {
    if (died || path !== `${disaster}/${end}`) return undefined;
    died = true;
    world.kill();
    return 'loseAnswer';
  };
}

const unknown = ['Unknown/UnknownState', 'Unknown/NotDisclosed', 'Unknown/UnknownState'];

describe('an activation whose answer was lost, with a service that shows little', () => {
  it('does not end as refused when what it began blocks it', async () => {
    const world = await aProtectedWorld({ readings: minimal });
    let count = 0;
    world.interference = ({ path }) =>
      path === `${disaster}/activate` && (count += 1) === 1 ? 'loseAnswer' : undefined;
    world.apply(activation, 'now', anActivation(world));
    await world.run(600_000);

    expect(await committed(world, 'activation.promoted')).toBe(1);
    expect(saidOf(world)).toEqual(unknown);
    expect(sentenceOf(world, activation, 'now')).toContain('"recovered" is live');
    expect(flaws(world, [activation, 'now'])).toEqual([]);
  });

  it('does not end as expired when the operator comes back after its approval', async () => {
    const world = await aProtectedWorld({ readings: minimal });
    diesAt(world, 'activate');
    world.apply(activation, 'now', anActivation(world));
    await world.run(hour + 100_000);
    await world.crash();
    await world.run(900_000);

    expect(await committed(world, 'activation.accepted')).toBe(1);
    expect(saidOf(world)).toEqual(unknown);
  });

  it('does not say that nothing was sent when the operator comes back without the power', async () => {
    const world = await aProtectedWorld({ readings: minimal });
    diesAt(world, 'activate');
    world.apply(activation, 'now', anActivation(world));
    await world.run(30_000);
    world.powers = { activation: false, accountReset: false };
    await world.crash();
    await world.run(900_000);

    expect(await committed(world, 'activation.accepted')).toBe(1);
    expect(saidOf(world)).toEqual(unknown);
    expect(sentenceOf(world, activation, 'now')).not.toContain('nothing is sent');
  });

  it('is in doubt by each of its conditions, and ends as expired when it never arrived', async () => {
    const world = await aProtectedWorld();
    world.interference = ({ path }) => (path === `${disaster}/activate` ? 'loseBefore' : undefined);
    world.apply(activation, 'now', anActivation(world));
    await world.run(60_000);
    for (const [type, doubt] of Object.entries({ Ready: 'False', Accepted: 'Unknown', Succeeded: 'Unknown' }))
      expect(conditionOf(world, activation, 'now', type)).toBe(`${doubt}/InDoubt`);

    await world.run(hour + 900_000);
    expect(await committed(world, 'activation.accepted')).toBe(0);
    expect(saidOf(world)).toEqual(['False/Expired', 'False/NotPromoted', 'False/Expired']);
    expect(sentenceOf(world, activation, 'now')).toContain('no effect of it');
  });
});

describe('an activation whose configuration is wiped from outside', () => {
  it('does not end as failed when it may have succeeded while nobody looked', async () => {
    const world = await aProtectedWorld();
    const { externalId: configurationId } = protection(world);
    await world.control('PATCH', `/configurations/${configurationId}`, { hold: true });
    world.apply(activation, 'now', anActivation(world));
    await world.run(60_000);
    world.kill();
    await world.control('PATCH', `/configurations/${configurationId}`, { hold: false });
    await world.run(900_000);
    await wipedByHand(world);
    await world.crash();
    await world.run(1_200_000);

    expect(await committed(world, 'activation.promoted')).toBe(1);
    expect(saidOf(world)).toEqual(['True/Accepted', 'Unknown/NotDisclosed', 'Unknown/UnknownState']);
  });
});

describe('a discard whose answer was lost', () => {
  it('does not end as expired when nothing tells what became of its operation', async () => {
    const world = await aProtectedWorld({ readings: { 'dr.operations': 'withoutIds' } });
    await failingActivation(world);
    diesAt(world, 'discard-activation');
    world.apply('ActivationDiscard', 'stop', aDiscard(world));
    await world.run(hour + 100_000);
    await world.crash();
    await world.run(900_000);

    expect(await committed(world, 'discard.accepted')).toBe(1);
    expect(conditionOf(world, 'ActivationDiscard', 'stop', 'Accepted')).toBe('Unknown/UnknownState');
    expect(conditionOf(world, 'ActivationDiscard', 'stop', 'Succeeded')).toBe('Unknown/UnknownState');
  });

  it('is waited for after its approval where the service shows it as accepted', async () => {
    const world = await aProtectedWorld();
    await failingActivation(world);
    const { externalId: configurationId } = protection(world);
    await world.control('PATCH', `/configurations/${configurationId}`, { hold: true });
    diesAt(world, 'discard-activation');
    world.apply('ActivationDiscard', 'stop', aDiscard(world));
    await world.run(hour + 100_000);
    await world.crash();
    await world.run(900_000);
    expect(conditionOf(world, 'ActivationDiscard', 'stop', 'Ready')).toBe('False/CleanupPending');
    expect(conditionOf(world, 'ActivationDiscard', 'stop', 'Accepted')).toMatch(/^Unknown/);

    await world.control('PATCH', `/configurations/${configurationId}`, { hold: false });
    await world.run(900_000);
    expect(await committed(world, 'discard.accepted')).toBe(1);
    expect(conditionOf(world, 'ActivationDiscard', 'stop', 'Succeeded')).toBe('True/Succeeded');
    expect(flaws(world, ['ActivationDiscard', 'stop'])).toEqual([]);
  });
});

describe('a reset that the service has begun', () => {
  it('does not end as expired while the service cleans up', async () => {
    const world = await aProtectedWorld();
    const { externalId: configurationId } = protection(world);
    const pendingCleanup = { pendingCount: 1, retainedDiskCount: 0, retryingCount: 1 };
    await world.control('PATCH', `/configurations/${configurationId}`, { pendingCleanup });
    world.apply('DisasterReset', 'wipe', aReset(world));
    await world.run(hour + 900_000);

    expect(await committed(world, 'configuration.wiped')).toBe(0);
    expect(conditionOf(world, 'DisasterReset', 'wipe', 'Accepted')).toBe('Unknown/UnknownState');
    expect(conditionOf(world, 'DisasterReset', 'wipe', 'Succeeded')).toBe('Unknown/UnknownState');
    expect(sentenceOf(world, 'DisasterReset', 'wipe')).toContain(
      'check in the service whether the configurations in the spec are gone',
    );
    expect(flaws(world, ['DisasterReset', 'wipe'])).toEqual([]);
  });
});
