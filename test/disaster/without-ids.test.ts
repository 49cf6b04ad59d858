/** A service that shows disaster operations as its interface names them: `activeOperationId`, moments, and no ids beside those. */
import { describe, expect, it } from 'vitest';
import type { InProcess } from '../support/in-process.ts';
import {
  aDiscard,
  anActivation,
  aProtectedWorld,
  committed,
  conditionOf,
  disaster,
  edit,
  flaws,
  protection,
  sentenceOf,
  statusOf,
  target,
} from './support.ts';

const kind = 'RecoveryActivation';
const opaque = { 'dr.operations': 'asNamed', 'activate.receipt': 'opaque' };
const withoutIds = { 'dr.operations': 'withoutIds', 'activate.receipt': 'opaque' };
const minimal = { 'dr.disclosed': 'minimal' };

/** Every pair of Ready and Succeeded that an object shows while time passes. */
async function saidDuring(world: InProcess, name: string, durationMs: number): Promise<readonly string[]> {
  const said = new Set<string>();
  for (let elapsed = 0; elapsed < durationMs; elapsed += 2_000) {
    await world.run(2_000);
    said.add(`${conditionOf(world, kind, name, 'Ready')} ${conditionOf(world, kind, name, 'Succeeded')}`);
  }
  return [...said];
}

async function tell(world: InProcess, what: object): Promise<void> {
  await world.control('PATCH', `/configurations/${protection(world).externalId}`, what);
}

function operationIdOf(world: InProcess, name: string): string | undefined {
  return statusOf<{ externalId?: string }>(world, kind, name).externalId;
}

/** An activation that hangs, and may be discarded. */
async function aHangingActivation(world: InProcess, name = 'now', more: object = {}): Promise<void> {
  await tell(world, { hold: true });
  world.apply(kind, name, anActivation(world, more));
  await world.run(60_000);
  await tell(world, { setPhase: 'promoted', hold: true });
  await world.run(60_000);
}

describe.each([opaque, withoutIds])('where the service shows operations as in %o', (readings) => {
  it('an activation is followed by what it works on, however long that takes, and to its result', async () => {
    const world = await aProtectedWorld({ readings });
    await tell(world, { hold: true });
    world.apply(kind, 'now', anActivation(world));
    const said = await saidDuring(world, 'now', 600_000);
    const { activeOperation } = protection(world);
    expect(said.filter((one) => !one.endsWith('Unknown/InProgress') && !one.endsWith('Unknown/NotSent'))).toEqual([]);
    expect(conditionOf(world, kind, 'now', 'Ready')).toBe('False/InProgress');
    expect(activeOperation?.operationId).toBeDefined();
    expect(operationIdOf(world, 'now')).toBe(activeOperation?.operationId);

    await world.crash();
    await tell(world, { hold: false });
    await world.run(600_000);

    expect(await committed(world, 'activation.accepted')).toBe(1);
    expect(conditionOf(world, kind, 'now', 'Succeeded')).toBe('True/Succeeded');
    expect(conditionOf(world, kind, 'now', 'Promoted')).toBe('True/Promoted');
    expect(flaws(world, ['DisasterProtection', 'orders'], [kind, 'now'])).toEqual([]);
  });

  it('an activation that came to its end while nobody looked is known by its result', async () => {
    const world = await aProtectedWorld({ readings });
    let died = false;
    world.interference = ({ path }) => {
      if (path !== `${disaster}/activate` || died) return undefined;
      died = true;
      world.kill();
      return 'loseAnswer';
    };
    world.apply(kind, 'now', anActivation(world));
    await world.run(300_000);
    await world.crash();
    await world.run(600_000);

    expect(await committed(world, 'activation.accepted')).toBe(1);
    expect(conditionOf(world, kind, 'now', 'Succeeded')).toBe('True/Succeeded');
  });

  it('an activation is discarded by the id that the protection shows, and another one may follow it by name', async () => {
    const world = await aProtectedWorld({ readings });
    await aHangingActivation(world);
    const first = protection(world).activeOperation?.operationId;
    world.apply('ActivationDiscard', 'stop', aDiscard(world));
    await world.run(10_000);
    await tell(world, { hold: false });
    await world.run(600_000);

    expect(conditionOf(world, 'ActivationDiscard', 'stop', 'Succeeded')).toBe('True/Succeeded');
    expect(conditionOf(world, kind, 'now', 'Succeeded')).toBe('False/OperationFailed');
    expect(operationIdOf(world, 'now')).toBe(first);

    world.apply(kind, 'again', anActivation(world, { attempt: 2, afterOperationId: first }));
    await world.run(600_000);
    expect(conditionOf(world, kind, 'again', 'Succeeded')).toBe('True/Succeeded');
    expect(await committed(world, 'activation.accepted')).toBe(2);
  });

  it('a third activation may follow two that were discarded, of which the second is named', async () => {
    const world = await aProtectedWorld({ readings });
    let last: string | undefined;
    for (const [index, name] of ['first', 'second'].entries()) {
      await aHangingActivation(world, name, {
        attempt: index + 1,
        ...(last !== undefined && { afterOperationId: last }),
      });
      last = operationIdOf(world, name);
      world.apply('ActivationDiscard', `stop-${name}`, aDiscard(world));
      await world.run(10_000);
      await tell(world, { hold: false });
      await world.run(600_000);
      expect(conditionOf(world, kind, name, 'Succeeded')).toBe('False/OperationFailed');
    }
    world.apply(kind, 'third', anActivation(world, { attempt: 3, afterOperationId: last }));
    await world.run(600_000);

    expect(sentenceOf(world, kind, 'third')).toMatch(/is live$/);
    expect(await committed(world, 'activation.accepted')).toBe(3);
  });

  it('several activations follow each other by name, and none without', async () => {
    const world = await aProtectedWorld({ readings });
    let last: string | undefined;
    for (const name of ['first', 'second', 'third']) {
      const more = { target: { ...target, environmentName: name, appName: `orders-${name}` } };
      world.apply(kind, `${name}-nameless`, anActivation(world, { ...more, attempt: 7 }));
      if (last === undefined) world.delete(kind, `${name}-nameless`);
      world.apply(kind, name, anActivation(world, { ...more, ...(last !== undefined && { afterOperationId: last }) }));
      await world.run(600_000);
      expect(conditionOf(world, kind, name, 'Succeeded')).toBe('True/Succeeded');
      if (last !== undefined) {
        expect(conditionOf(world, kind, `${name}-nameless`, 'Succeeded')).toBe('False/AlreadyActivated');
      }
      last = operationIdOf(world, name);
    }

    expect(await committed(world, 'activation.succeeded')).toBe(3);
  });

  it('a mistyped id is never discarded, and a lost discard is not claimed', async () => {
    const world = await aProtectedWorld({ readings });
    await aHangingActivation(world);
    world.apply('ActivationDiscard', 'typo', aDiscard(world, { operationId: 'op_typo' }));
    await world.run(30_000);
    expect(conditionOf(world, 'ActivationDiscard', 'typo', 'Succeeded')).toBe('False/OperationNotActive');

    world.interference = ({ path }) => (path === `${disaster}/discard-activation` ? 'loseAnswer' : undefined);
    world.apply('ActivationDiscard', 'stop', aDiscard(world));
    await world.run(10_000);
    await tell(world, { hold: false });
    await world.run(600_000);
    expect(await committed(world, 'discard.accepted')).toBe(1);
    expect(conditionOf(world, 'ActivationDiscard', 'stop', 'Succeeded')).toBe('Unknown/UnknownState');
    expect(conditionOf(world, 'ActivationDiscard', 'stop', 'Accepted')).toBe('Unknown/UnknownState');
    expect(sentenceOf(world, 'ActivationDiscard', 'stop')).toMatch(
      /check in the service whether operation .* is discarded/,
    );
    expect(conditionOf(world, 'ActivationDiscard', 'typo', 'Succeeded')).toBe('False/OperationNotActive');
  });

  it('settings wait for an activation, and a protection at rest lists no points', async () => {
    const world = await aProtectedWorld({ readings }, { snapshotIntervalSeconds: 86_400 });
    let listed = 0;
    world.interference = ({ path }) => {
      if (path === `${disaster}/points`) listed += 1;
      return undefined;
    };
    await world.run(600_000);
    expect(listed).toBe(0);

    await aHangingActivation(world);
    world.delete(kind, 'now');
    edit(world, { rtoTargetSeconds: 7_200 });
    await world.run(120_000);
    expect(conditionOf(world, 'DisasterProtection', 'orders', 'Ready')).toBe('False/OperationInProgress');
    expect(await committed(world, 'configuration.edited')).toBe(0);
  });

  it('a warm standby is taken over under its names', async () => {
    const world = await aProtectedWorld({ readings }, { protectionMode: 'Warm' });
    await world.run(600_000);
    world.apply(kind, 'now', anActivation(world));
    await world.run(900_000);

    expect(sentenceOf(world, kind, 'now')).toMatch(/is live$/);
    expect(conditionOf(world, kind, 'now', 'Succeeded')).toBe('True/Succeeded');
  });
});

describe('a validation without ids', () => {
  it.each(
    ['Cold', 'Warm'].flatMap((mode) => ['withoutIds', 'asNamed'].map((operations) => [mode, operations] as const)),
  )('of a %s protection, shown %s, ends as neither a success nor a failure', async (mode, operations) => {
    const world = await aProtectedWorld({ readings: { 'dr.operations': operations } }, { protectionMode: mode });
    await world.run(600_000);
    world.apply('RecoveryValidation', 'x', { protectionRef: { name: 'orders' } });
    await world.run(5_000);
    expect(conditionOf(world, 'RecoveryValidation', 'x', 'Succeeded')).toBe('Unknown/InProgress');
    await world.crash();
    await world.run(600_000);

    expect(await committed(world, 'validation.accepted')).toBe(1);
    expect(conditionOf(world, 'RecoveryValidation', 'x', 'Succeeded')).toBe('Unknown/UnknownState');
    expect(flaws(world, ['RecoveryValidation', 'x'])).toEqual([]);
  });
});

describe('where the service discloses little besides', () => {
  it.each<Readonly<Record<string, string>>>([
    { 'dr.operations': 'withoutIds' },
    { 'dr.operations': 'asNamed' },
    { 'dr.operations': 'withoutIds', 'activate.receipt': 'opaque' },
    { 'dr.operations': 'asNamed', 'activate.receipt': 'opaque' },
  ])('what came of an activation stays unknown, and is called neither failed nor live: %o', async (readings) => {
    const world = await aProtectedWorld({ readings: { ...minimal, ...readings } });
    world.apply(kind, 'now', anActivation(world));
    const said = [...(await saidDuring(world, 'now', 300_000))];
    await world.crash();
    said.push(...(await saidDuring(world, 'now', 600_000)));

    expect(await committed(world, 'activation.accepted')).toBe(1);
    expect(said.filter((one) => one.includes('True/') || one.endsWith('False/OperationFailed'))).toEqual([]);
    expect(conditionOf(world, kind, 'now', 'Ready')).toBe('False/NotDisclosed');
    expect(conditionOf(world, kind, 'now', 'Promoted')).toBe('Unknown/NotDisclosed');
  });

  it('another activation is refused where the history shows one without an id', async () => {
    const world = await aProtectedWorld({ readings: { ...minimal, 'dr.operations': 'withoutIds' } });
    world.apply(kind, 'now', anActivation(world));
    await world.run(300_000);
    world.delete(kind, 'now');
    world.apply(kind, 'other', anActivation(world, { target: { ...target, environmentName: 'elsewhere' } }));
    await world.run(300_000);

    expect(await committed(world, 'activation.accepted')).toBe(1);
    expect(conditionOf(world, kind, 'other', 'Accepted')).toBe('False/AlreadyActivated');
    expect(sentenceOf(world, kind, 'other')).toContain('DisasterReset');
  });
});
