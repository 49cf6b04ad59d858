import { afterAll, describe, expect, it } from 'vitest';
import type { Disturbance } from '../support/disturbed-wire.ts';
import type { InProcess } from '../support/in-process.ts';
import { lives, type Life } from './lives.ts';
import { arranged, bringIn, callsOf, everythingWritten, readiness, sampled, wholeLife, type Plan } from './walk.ts';

const counted = { plans: 0, possible: 0, transitions: 0 };

afterAll(() => {
  process.stdout.write(
    `standing properties: ${counted.plans} of ${counted.possible} plans, ${counted.transitions} transitions\n`,
  );
});

/** Commits of the service that somebody asked for: a refreshed state is none. */
async function changes(world: InProcess): Promise<readonly { kind: string }[]> {
  const ledger = await world.ledger();
  return ledger.filter(({ kind }) => kind !== 'alert.refreshed' && kind !== 'alert.stateChanged');
}

/** What was written to Kubernetes; where the service moves on by itself, about the life's own resource. */
function writesIn(world: InProcess, life: Life): readonly object[] {
  const writes = world.kube.calls.filter(({ verb }) => ['create', 'replace', 'replaceStatus', 'patch'].includes(verb));
  return life.movesOn === true ? writes.filter(({ name }) => name === life.name) : writes;
}

/** Everything that can happen to one call to the service. */
const disturbances: readonly { readonly name: string; readonly is: Disturbance }[] = [
  { name: 'refused connection', is: 'refuseConnection' },
  { name: 'lost before it arrived', is: 'loseBefore' },
  { name: 'answer lost', is: 'loseAnswer' },
  { name: 'never answered, not done', is: 'hangBefore' },
  { name: 'never answered, done', is: 'hangAfter' },
  { name: '500, not done', is: { insteadOf: { status: 500, text: '{"error":"boom"}' } } },
  { name: '500, done', is: { afterwards: { status: 500, text: '{"error":"boom"}' } } },
  { name: '502 of a proxy, done', is: { afterwards: { status: 502, text: '<html>bad gateway</html>' } } },
  { name: '408, not done', is: { insteadOf: { status: 408 } } },
  { name: '429 with a time', is: { insteadOf: { status: 429, headers: { 'retry-after': '7' } } } },
  { name: '429 without', is: { insteadOf: { status: 429 } } },
  { name: '401 once', is: { insteadOf: { status: 401, text: '{"error":"no"}' } } },
  { name: 'garbage, done', is: { afterwards: { status: 200, text: '{"oops' } } },
  { name: 'garbage, not done', is: { insteadOf: { status: 200, text: '<html>sign in</html>' } } },
  { name: 'an empty answer, done', is: { afterwards: { status: 200, text: '' } } },
];

describe.each(lives)('$kind', (life) => {
  const chosenFrom = <Kind extends Plan>(plans: readonly Kind[]): readonly Kind[] => {
    const chosen = sampled(life, plans);
    counted.plans += chosen.length;
    counted.possible += plans.length;
    counted.transitions += chosen.length * (life.edited === undefined ? 2 : 3);
    return chosen;
  };

  it('settles: a second pass writes nothing anywhere', async () => {
    const world = await arranged(life);
    bringIn(world, life);
    await world.run(150_000);
    const before = { object: world.get(life.kind, life.name), ledger: await changes(world) };
    const writes = writesIn(world, life).length;

    world.operator.engine.enqueue(life.kind, 'team', life.name);
    await world.run(200_000);

    expect(readiness(world, life)).toBe(`True/${life.rests ?? 'InSync'}@1`);
    expect(world.get(life.kind, life.name)).toEqual(before.object);
    expect(await changes(world)).toEqual(before.ledger);
    expect(writesIn(world, life)).toHaveLength(writes);
  });

  it('forgets: after deletion the service is as it was', async () => {
    const world = await arranged(life);

    const wrong = await wholeLife(world, life);

    expect(wrong).toEqual([]);
    expect(await life.made(world)).toHaveLength(life.stays === true ? 1 : 0);
  });

  it('survives every outcome of every single call to the service', async () => {
    const plans = (await callsOf(life)).flatMap(({ nth, isWrite }) =>
      disturbances.map(({ name, is }) => ({ nth, name, is, matters: isWrite })),
    );
    const wrong: string[] = [];
    for (const { nth, name, is } of chosenFrom(plans)) {
      const world = await arranged(life);
      let where = '';
      world.interference = ({ count, method, path }) => {
        if (count !== nth) return undefined;
        where = `${method} ${path}`;
        return is;
      };
      const flaws = await wholeLife(world, life);
      wrong.push(...flaws.map((flaw) => `call ${nth} (${where}), ${name}: ${flaw}`));
    }
    expect(wrong).toEqual([]);
  }, 300_000);

  it('survives the death of the process before and after every single call to the service', async () => {
    const plans = (await callsOf(life)).flatMap(({ nth, isWrite }) =>
      (['hangBefore', 'hangAfter'] as const).map((is) => ({ nth, is, matters: isWrite })),
    );
    const wrong: string[] = [];
    for (const { nth, is } of chosenFrom(plans)) {
      const world = await arranged(life);
      let hit = '';
      world.interference = ({ count, method, path }) => {
        if (count !== nth) return undefined;
        hit = `${method} ${path}`;
        return is;
      };
      const flaws = await wholeLife(world, life, async () => {
        if (hit === '') return;
        world.interference = () => undefined;
        if (!hit.endsWith(' crashed')) await world.crash(120_000);
        hit = `${hit} crashed`;
      });
      wrong.push(...flaws.map((flaw) => `call ${nth} (${hit}), ${is}: ${flaw}`));
    }
    expect(wrong).toEqual([]);
  }, 300_000);

  it('survives the death of the process before and after every single write to Kubernetes', async () => {
    const isWrite = (verb: string) => ['create', 'replace', 'replaceStatus', 'patch', 'get'].includes(verb);
    const quiet = await arranged(life);
    const first = quiet.kube.calls.filter(({ verb }) => isWrite(verb)).length;
    await wholeLife(quiet, life);
    const writes = quiet.kube.calls.filter(({ verb }) => isWrite(verb)).slice(first);
    const plans = writes.flatMap(({ name }, nth) =>
      (['before', 'after'] as const).flatMap((effect) =>
        (['hang', 'unavailable', 'conflict'] as const)
          .filter((outcome) => outcome !== 'conflict' || effect === 'before')
          .map((outcome) => ({ nth, effect, outcome, matters: name === life.name })),
      ),
    );
    const wrong: string[] = [];
    for (const { nth, effect, outcome } of chosenFrom(plans)) {
      const world = await arranged(life);
      let isDead = false;
      world.kube.inject({ after: nth, effect, outcome, times: 1 });
      const flaws = await wholeLife(world, life, async () => {
        if (outcome !== 'hang' || isDead) return;
        isDead = true;
        await world.crash(120_000);
      });
      wrong.push(...flaws.map((flaw) => `write ${nth}, ${effect} ${outcome}: ${flaw}`));
    }
    expect(wrong).toEqual([]);
  }, 300_000);

  it('never leaks: no planted secret is written anywhere', async () => {
    const world = await arranged(life);

    await wholeLife(world, life);

    const written = await everythingWritten(world);
    for (const secret of life.planted) {
      for (const form of [
        secret,
        Buffer.from(secret).toString('base64'),
        Buffer.from(secret).toString('hex'),
        encodeURIComponent(secret),
      ]) {
        expect(written).not.toContain(form);
      }
    }
    expect(written).not.toContain('demo-admin');
  });
});
