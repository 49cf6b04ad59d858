/** What status says of a request whose process died after the journal entry was written, until another process comes and then. */
import { describe, expect, it } from 'vitest';
import type { Condition } from '../../src/engine/kind/contract/step.ts';
import type { InProcess } from '../support/in-process.ts';
import {
  aDiscard,
  anActivation,
  aProtectedWorld,
  aProtection,
  aReset,
  committed,
  conditionOf,
  disaster,
  failingActivation,
  flaws,
  sentenceOf,
  statusOf,
} from './support.ts';

const horizonMs = 120_000;

interface Row {
  readonly kind: string;
  readonly path: string;
  /** What the service's ledger says of one that was carried out. */
  readonly commit: string;
  readonly spec: (world: InProcess) => object;
  readonly prepare?: (world: InProcess) => Promise<void>;
}

const rows: readonly Row[] = [
  { kind: 'RecoveryActivation', path: 'activate', commit: 'activation.accepted', spec: anActivation },
  {
    kind: 'RecoveryValidation',
    path: 'validate',
    commit: 'validation.accepted',
    spec: () => ({ protectionRef: { name: 'orders' } }),
  },
  {
    kind: 'ActivationDiscard',
    path: 'discard-activation',
    commit: 'discard.accepted',
    spec: aDiscard,
    prepare: (world) => failingActivation(world, 'failing'),
  },
  { kind: 'DisasterReset', path: 'reset', commit: 'configuration.wiped', spec: aReset },
];

/** The moments at which the process can die once the entry is written. */
const moments = [
  {
    when: 'the service carried the request out',
    commits: 1,
    isIt: (row: Row, method: string, path: string) => method === 'POST' && path === `${disaster}/${row.path}`,
  },
  {
    when: 'nothing left the process yet',
    commits: 0,
    isIt: (_row: Row, method: string, path: string) => method === 'GET' && path.startsWith(disaster),
  },
] as const;

const cases = rows.flatMap((row) => moments.map((moment) => ({ ...row, row, ...moment })));

function journal(world: InProcess, kind: string): unknown {
  return statusOf<{ internal?: { journal?: unknown } }>(world, kind, 'x').internal?.journal;
}

/** What every condition says; none may say that nothing was sent while the entry stands. */
function said(world: InProcess, kind: string): string {
  const { conditions = [] } = statusOf<{ conditions?: readonly Condition[] }>(world, kind, 'x');
  return conditions.map(({ type, status, reason, message }) => `${type}=${status}/${reason}: ${message}`).join('\n');
}

const denial = /NotSent|nothing (was|is) sent|not been sent/u;

/** Asks for it; the process dies at this moment. */
async function dying(row: Row, isIt: (row: Row, method: string, path: string) => boolean, account = {}) {
  const world = await aProtectedWorld();
  await row.prepare?.(world);
  let isDead = false;
  world.interference = ({ method, path }) => {
    if (isDead || journal(world, row.kind) === undefined || !isIt(row, method, path)) return undefined;
    isDead = true;
    world.kill();
    return undefined;
  };
  world.account(account);
  await world.run(5_000);
  world.apply(row.kind, 'x', row.spec(world));
  return world;
}

describe('a request whose process died after the entry was written', () => {
  it.each(cases)(
    'does not say that nothing was sent: $kind, when $when',
    async ({ row, kind, commit, commits, isIt }) => {
      const world = await dying(row, isIt);
      await world.run(600_000);

      expect(journal(world, kind)).toBeDefined();
      expect(await committed(world, commit)).toBe(commits);
      expect(said(world, kind)).not.toMatch(denial);
      expect(conditionOf(world, kind, 'x', 'Ready')).toBe('False/Requesting');
      expect(conditionOf(world, kind, 'x', 'Accepted')).toBe('Unknown/InDoubt');
      expect(flaws(world, [kind, 'x'])).toEqual([]);

      await world.crash(horizonMs);
      await world.run(5_000);
      expect(said(world, kind)).not.toMatch(denial);
      await world.run(900_000);
      expect(await committed(world, commit)).toBe(1);
    },
  );

  it.each(rows)('does not say so either when the request had waited before: $kind', async (row) => {
    const { kind, commit } = row;
    const world = await dying(row, moments[0].isIt, { lifecycle: { managementPolicy: 'Observe' } });
    await world.run(30_000);
    const before = ['Ready', 'Accepted'].map((type) => conditionOf(world, kind, 'x', type));
    world.account();
    await world.run(600_000);

    expect(before).toEqual(['False/Observed', 'Unknown/NotSent']);
    expect(await committed(world, commit)).toBe(1);
    expect(said(world, kind)).not.toMatch(denial);
    expect(conditionOf(world, kind, 'x', 'Accepted')).toBe('Unknown/InDoubt');
  });

  it.each(rows)('says during a take-over that it may have been sent: $kind', async (row) => {
    const { kind } = row;
    const world = await dying(row, moments[1].isIt);
    await world.run(30_000);
    await world.crash(horizonMs);
    await world.run(60_000);

    expect(conditionOf(world, kind, 'x', 'Ready')).toBe('False/TakeOver');
    expect(sentenceOf(world, kind, 'x')).toContain('the request may have been sent');
    expect(conditionOf(world, kind, 'x', 'Accepted')).toBe('Unknown/InDoubt');
    expect(said(world, kind)).not.toMatch(denial);
  });
});

describe('a paused request whose process died after the entry was written', () => {
  it('says that it is paused', async () => {
    const row = rows[0] as Row;
    const world = await dying(row, moments[1].isIt);
    await world.run(30_000);
    world.apply(row.kind, 'x', row.spec(world), { 'apphosting.dev/paused': 'true' });
    await world.crash();
    await world.run(120_000);

    expect(conditionOf(world, row.kind, 'x', 'Ready')).toBe('Unknown/Paused');
    expect(conditionOf(world, row.kind, 'x', 'Reconciling')).toBeUndefined();
    expect(await committed(world, row.commit)).toBe(0);
  });
});

describe('a reset whose process died after the entry was written', () => {
  it('says after a restart until when it waits, and that it is sent again then', async () => {
    const row = rows[3] as Row;
    const world = await dying(row, moments[1].isIt);
    await world.run(30_000);
    await world.crash();
    await world.run(60_000);
    const sentence = sentenceOf(world, row.kind, 'x');
    await world.run(120_000);

    expect(sentence).toMatch(/until .+Z the operator watches .+ by then .+ the operator sends the request again$/u);
    expect(await committed(world, row.commit)).toBe(1);
  });
});

describe('a protection whose process died after the entry was written', () => {
  it.each(moments)('says that it is requested: $when', async ({ commits, isIt }) => {
    const kind = 'DisasterProtection';
    const spec = () => ({ ...aProtection, environmentRef: { externalId: 'env_web_prod' }, target: undefined });
    const world = await dying({ kind, path: 'configure', commit: 'configuration.created', spec }, isIt);
    const before = await committed(world, 'configuration.created');
    await world.run(600_000);

    expect(await committed(world, 'configuration.created')).toBe(before + commits);
    expect(conditionOf(world, kind, 'x', 'Ready')).toBe('False/Requesting');
    expect(said(world, kind)).not.toMatch(denial);
  });
});
