import { describe, expect, it } from 'vitest';
import type { InProcess } from '../support/in-process.ts';
import {
  anActivation,
  aProtectedWorld,
  committed,
  conditionOf,
  disaster,
  flaws,
  protection,
  sentenceOf,
} from './support.ts';

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

  it('ends as expired when it never arrived', async () => {
    const world = await aProtectedWorld();
    world.interference = ({ path }) => (path === `${disaster}/activate` ? 'loseBefore' : undefined);
    world.apply(activation, 'now', anActivation(world));
    await world.run(hour + 900_000);

    expect(await committed(world, 'activation.accepted')).toBe(0);
    expect(saidOf(world)).toEqual(['False/Expired', 'False/NotPromoted', 'False/Expired']);
    expect(sentenceOf(world, activation, 'now')).toContain('no trace');
  });

  it('is in doubt by each of its conditions meanwhile', async () => {
    const world = await aProtectedWorld();
    world.interference = ({ path }) => (path === `${disaster}/activate` ? 'loseBefore' : undefined);
    world.apply(activation, 'now', anActivation(world));
    await world.run(60_000);

    expect(conditionOf(world, activation, 'now', 'Accepted')).toBe('Unknown/InDoubt');
    expect(conditionOf(world, activation, 'now', 'Succeeded')).toBe('Unknown/InDoubt');
  });
});
