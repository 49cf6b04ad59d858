import { describe, expect, it } from 'vitest';
import type { AnyKind } from '../../../src/engine/kind/contract/define.ts';
import { kinds } from '../../../src/kinds/index.ts';
import { aWorld, conditionOf, messageOf, statusOf } from '../../kinds/support/world.ts';

type AnyPass = Parameters<AnyKind['step']>[0];

const mail = { email: { addresses: ['a@example.com'] } };

/** Contact points of this kind whose name begins with `poison` make the given function throw. */
function poisoned(part: 'step' | 'show' | 'needs'): readonly AnyKind[] {
  const boom = () => {
    throw new Error('planted-stack-detail');
  };
  return kinds.map((kind) => {
    if (kind.kind !== 'ContactPoint') return kind;
    if (part === 'needs') return { ...kind, needs: (spec) => (spec.name === 'poison' ? boom() : kind.needs(spec)) };
    return { ...kind, [part]: (pass: Parameters<AnyKind['step']>[0]) => (isPoison(pass) ? boom() : kind[part](pass)) };
  });
}

/** One kind, which throws in its step or its showing whenever this says so. */
function breaking(name: string, part: 'step' | 'show', isBroken: (pass: AnyPass) => boolean): readonly AnyKind[] {
  return kinds.map((kind) => {
    if (kind.kind !== name) return kind;
    const broken = (pass: AnyPass) => {
      if (isBroken(pass)) throw new Error('broken');
      return kind[part](pass);
    };
    return { ...kind, [part]: broken };
  });
}

function isPoison(pass: { readonly subject: { readonly name: string } }): boolean {
  return pass.subject.name.startsWith('poison');
}

describe('an object whose reconcile always throws', () => {
  it.each(['step', 'show', 'needs'] as const)('says so once when %s throws, and disturbs no other', async (part) => {
    const world = await aWorld({ kinds: poisoned(part) });
    for (let n = 0; n < 5; n += 1) world.apply('ContactPoint', `poison-${n}`, { name: 'poison', ...mail });
    await world.run(5_000);
    world.apply('ContactPoint', 'good', mail);
    await world.run(30_000);

    expect(conditionOf(world, 'ContactPoint', 'good')).toBe('True/InSync');
    expect(conditionOf(world, 'ContactPoint', 'poison-0')).toBe('False/InternalError');
    expect(conditionOf(world, 'ContactPoint', 'poison-0', 'Reconciling')).toBe('True/InternalError');
    expect(messageOf(world, 'ContactPoint', 'poison-0')).not.toContain('planted');
    const writes = () =>
      world.kube.calls.filter(({ verb, name }) => verb === 'replaceStatus' && name?.startsWith('poison')).length;
    const before = writes();
    await world.run(3_600_000);
    expect(writes()).toBe(before);
    const passes = world.trace.lines.filter(
      (line) => line.startsWith('error a reconcile failed') && line.includes('poison-0'),
    );
    expect(passes.length).toBeLessThan(40);
  });

  it('leaves what it was bound to as it is, and goes on when it no longer throws', async () => {
    let isBroken = false;
    const world = await aWorld({ kinds: breaking('ContactPoint', 'step', () => isBroken) });
    world.apply('ContactPoint', 'on-call', mail);
    await world.run(5_000);
    const { externalId: contactPointId } = statusOf(world, 'ContactPoint', 'on-call');
    isBroken = true;
    world.apply('ContactPoint', 'on-call', { ...mail, name: 'renamed' });
    await world.run(60_000);
    expect(conditionOf(world, 'ContactPoint', 'on-call')).toBe('False/InternalError');
    expect(world.get('ContactPoint', 'on-call')?.status).toMatchObject({ externalId: contactPointId });

    isBroken = false;
    await world.run(600_000);

    expect(conditionOf(world, 'ContactPoint', 'on-call')).toBe('True/InSync');
    expect(world.get('ContactPoint', 'on-call')?.status).toMatchObject({ externalId: contactPointId });
  });

  it('does not close the account to its resources when it is the account', async () => {
    let isBroken = false;
    const world = await aWorld({ kinds: breaking('HostingAccount', 'step', () => isBroken) });
    isBroken = true;
    world.operator.engine.again(['HostingAccount/team/default']);
    world.apply('ContactPoint', 'on-call', mail);

    await world.run(60_000);

    expect(conditionOf(world, 'HostingAccount', 'default')).toBe('False/InternalError');
    expect(conditionOf(world, 'ContactPoint', 'on-call')).toBe('True/InSync');
  });

  it('loses no id that came back from the service right before it threw', async () => {
    let isBroken = true;
    const isBound = (pass: AnyPass) => isBroken && pass.memory.id !== undefined;
    const world = await aWorld({ kinds: breaking('ContactPoint', 'show', isBound) });
    world.apply('ContactPoint', 'on-call', mail);
    await world.run(10_000);
    expect(world.get('ContactPoint', 'on-call')?.status).toMatchObject({
      internal: { ownership: 'Created' },
      externalId: expect.any(String),
    });

    isBroken = false;
    await world.run(600_000);

    expect(conditionOf(world, 'ContactPoint', 'on-call')).toBe('True/InSync');
    expect((await world.ledger()).filter(({ kind }) => kind === 'contactPoint.created')).toHaveLength(1);
  });
});
