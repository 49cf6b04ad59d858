import { internalOf } from '../kinds/support/world.ts';
/** A validation whose answer was lost is found by what the service shows, and settings wait for that. */
import { describe, expect, it } from 'vitest';
import type { InProcess } from '../support/in-process.ts';
import {
  aProtectedWorld,
  committed,
  conditionOf,
  disaster,
  edit,
  editedByHand,
  protection,
  sentenceOf,
} from './support.ts';

const kind = 'RecoveryValidation';

/** Asks for a validation whose first answer is lost; counts the calls. */
function askedInVain(world: InProcess): () => number {
  let count = 0;
  world.interference = ({ path }) => (path === `${disaster}/validate` && (count += 1) === 1 ? 'loseAnswer' : undefined);
  world.apply(kind, 'x', { protectionRef: { name: 'orders' } });
  return () => count;
}

describe('a validation whose answer was lost', () => {
  it('holds an edit of the protection back until it is found', async () => {
    const world = await aProtectedWorld();
    const { externalId: configurationId } = protection(world);
    await world.control('PATCH', `/configurations/${configurationId}`, { hold: true });
    world.interference = ({ path }) => (path === `${disaster}/validate` ? 'loseBefore' : undefined);
    world.apply(kind, 'x', { protectionRef: { name: 'orders' } });
    await world.run(3_000);
    edit(world, { rtoTargetSeconds: 7_200 });
    await world.run(60_000);
    expect(await committed(world, 'configuration.edited')).toBe(0);
    expect(sentenceOf(world, 'DisasterProtection', 'orders')).toContain(
      'new settings wait until RecoveryValidation team/x has ended',
    );

    world.interference = () => undefined;
    await world.run(120_000);
    expect(conditionOf(world, kind, 'x', 'Accepted')).toBe('True/Accepted');
    expect(await committed(world, 'configuration.edited')).toBe(1);
  });

  it('is found although the configuration changed after it', async () => {
    const world = await aProtectedWorld();
    const sent = askedInVain(world);
    await world.run(2_000);
    world.kill();
    world.service.advance(30_000);
    await editedByHand(world);
    await world.crash();
    await world.run(900_000);

    expect(sent()).toBe(1);
    expect(internalOf(world, kind, 'x')['ownership']).toBe('Presumed');
    expect(conditionOf(world, kind, 'x', 'Succeeded')).toBe('True/Succeeded');
  });

  it('is not one that was there before', async () => {
    const world = await aProtectedWorld();
    world.apply(kind, 'before', { protectionRef: { name: 'orders' } });
    await world.run(300_000);
    world.delete(kind, 'before');
    world.interference = ({ path }) => (path === `${disaster}/validate` ? 'loseBefore' : undefined);
    world.apply(kind, 'x', { protectionRef: { name: 'orders' } });
    await world.run(60_000);

    expect(conditionOf(world, kind, 'x', 'Accepted')).toBe('Unknown/InDoubt');
  });
});

describe('a validation that a change of the configuration ended', () => {
  it('says so, and not that recovery is blocked', async () => {
    const world = await aProtectedWorld();
    world.apply(kind, 'x', { protectionRef: { name: 'orders' } });
    await world.run(5_000);
    edit(world, { rtoTargetSeconds: 7_200 });
    await world.run(300_000);

    expect(conditionOf(world, kind, 'x', 'Accepted')).toBe('True/Accepted');
    expect(conditionOf(world, kind, 'x', 'Succeeded')).toBe('False/Superseded');
    expect(sentenceOf(world, kind, 'x')).not.toContain('blocks');
  });
});

describe('a validation whose end the service does not show', () => {
  it('is not said to be in progress for good', async () => {
    const world = await aProtectedWorld({ readings: { 'dr.disclosed': 'minimal' } });
    world.apply(kind, 'x', { protectionRef: { name: 'orders' } });
    await world.run(600_000);
    expect(conditionOf(world, kind, 'x', 'Ready')).toBe('False/InProgress');
    await world.run(3_600_000);

    expect(conditionOf(world, kind, 'x', 'Accepted')).toBe('True/Accepted');
    expect(conditionOf(world, kind, 'x', 'Succeeded')).toBe('Unknown/UnknownState');
  });

  it('lets an edit of the protection go out, and ends after it', async () => {
    const world = await aProtectedWorld({ readings: { 'dr.disclosed': 'minimal' } });
    world.apply(kind, 'x', { protectionRef: { name: 'orders' } });
    await world.run(300_000);
    edit(world, { rtoTargetSeconds: 7_200 });
    await world.run(600_000);
    expect(await committed(world, 'configuration.edited')).toBe(1);

    await world.run(3_600_000);
    expect(conditionOf(world, kind, 'x', 'Succeeded')).toBe('Unknown/UnknownState');
  });
});
