import { describe, expect, it } from 'vitest';
import { conditionOf, messageOf, relabel } from '../../kinds/support/world.ts';
import { InProcess } from '../../support/in-process.ts';

const mail = { email: { addresses: ['a@example.com'] } };

function applyFor(world: InProcess, team: string, name: string, spec: object = mail): void {
  world.apply('ContactPoint', name, spec);
  relabel(world, 'ContactPoint', name, { team });
}

/** Two operators in one cluster, and an account that has the labels of the first. */
async function twoOperators(): Promise<{ readonly a: InProcess; readonly b: InProcess }> {
  const a = new InProcess({ selector: 'team=a' });
  const b = new InProcess({ selector: 'team=b', beside: a });
  await a.start();
  await b.start();
  a.account();
  relabel(a, 'HostingAccount', 'default', { team: 'a' });
  await a.run(20_000);
  return { a, b };
}

function accountWrites(world: InProcess, from = 0): number {
  const writing = new Set(['replaceStatus', 'patch', 'replaceFinalizers']);
  return world.kube.calls.slice(from).filter(({ verb, plural }) => writing.has(verb) && plural === 'hostingaccounts')
    .length;
}

describe('an account among several operators', () => {
  it('is looked after by the operator whose labels it has, and by no other', async () => {
    const { a, b } = await twoOperators();

    applyFor(a, 'a', 'ours');
    applyFor(a, 'b', 'theirs');
    await a.run(60_000);

    expect(conditionOf(a, 'HostingAccount', 'default')).toBe('True/InSync');
    expect(a.get('HostingAccount', 'default')?.status).toMatchObject({
      counts: [{ kind: 'ContactPoint', total: 1, ready: 1 }],
    });
    expect(conditionOf(a, 'ContactPoint', 'ours')).toBe('True/InSync');
    expect(conditionOf(a, 'ContactPoint', 'theirs')).toBe('False/AccountNotReady');
    expect(messageOf(a, 'ContactPoint', 'theirs')).toBe(
      "HostingAccount team/default does not exist, or lacks the labels of this operator's --selector; an account needs the labels of the resources that use the account",
    );
    expect(accountWrites(b)).toBe(0);
  });

  it('stays as long as its operator sees somebody use it', async () => {
    const { a } = await twoOperators();
    applyFor(a, 'a', 'ours');
    await a.run(20_000);

    a.delete('HostingAccount', 'default');
    await a.run(60_000);
    const whileUsed = conditionOf(a, 'HostingAccount', 'default');
    a.delete('ContactPoint', 'ours');
    await a.run(60_000);

    expect(whileUsed).toBe('False/InUse');
    expect(a.get('ContactPoint', 'ours')).toBeUndefined();
    expect(a.get('HostingAccount', 'default')).toBeUndefined();
  });

  it('is told once that it is throttled, however many operators there are', async () => {
    const { a, b } = await twoOperators();
    a.interference = ({ method }) =>
      method === 'POST' ? { insteadOf: { status: 429, headers: { 'retry-after': '600' } } } : undefined;
    applyFor(a, 'a', 'ours');
    await a.run(12_000);
    const from = a.kube.calls.length;

    await a.run(300_000);

    expect(conditionOf(a, 'HostingAccount', 'default', 'Throttled')).toBe('True/Throttling');
    expect([accountWrites(a, from), accountWrites(b)]).toEqual([0, 0]);
  });

  it('goes to another operator with its labels', async () => {
    const { a, b } = await twoOperators();
    applyFor(a, 'b', 'theirs');
    await a.run(20_000);

    relabel(a, 'HostingAccount', 'default', { team: 'b' });
    await a.run(60_000);

    expect(conditionOf(a, 'ContactPoint', 'theirs')).toBe('True/InSync');
    expect([a.sent.length, b.sent.length]).toEqual([0, 1]);
  });
});
