import { afterAll, describe, expect, it } from 'vitest';
import type { Disturbance } from '../support/disturbed-wire.ts';
import type { InProcess } from '../support/in-process.ts';
import { lives } from './lives.ts';
import { arranged, everythingWritten, readiness, wholeLife } from './walk.ts';

const counted = { plans: 0, transitions: 0 };

afterAll(() => {
  process.stdout.write(`standing properties: ${counted.plans} plans, ${counted.transitions} transitions\n`);
});

/** Commits of the service that somebody asked for: a refreshed state is none. */
async function changes(world: InProcess): Promise<readonly { kind: string }[]> {
  const ledger = await world.ledger();
  return ledger.filter(({ kind }) => kind !== 'alert.refreshed' && kind !== 'alert.stateChanged');
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
  { name: 'an empty answer, done', is: { afterwards: { status: 200, text: '' } } },
];

describe.each(lives)('$kind', (life) => {
  it('settles: a second pass writes nothing anywhere', async () => {
    const world = await arranged(life);
    world.apply(life.kind, life.name, life.spec);
    await world.run(150_000);
    const before = { object: world.get(life.kind, life.name), ledger: await changes(world) };
    const writes = world.kube.calls.filter(({ verb }) =>
      ['create', 'replace', 'replaceStatus', 'patch'].includes(verb),
    ).length;

    world.operator.engine.enqueue(life.kind, 'team', life.name);
    await world.run(200_000);

    expect(readiness(world, life)).toBe('True/InSync@1');
    expect(world.get(life.kind, life.name)).toEqual(before.object);
    expect(await changes(world)).toEqual(before.ledger);
    const after = world.kube.calls.filter(({ verb }) =>
      ['create', 'replace', 'replaceStatus', 'patch'].includes(verb),
    ).length;
    expect(after).toBe(writes);
  });

  it('forgets: after deletion the service is as it was', async () => {
    const world = await arranged(life);

    const wrong = await wholeLife(world, life);

    expect(wrong).toEqual([]);
    expect(await life.made(world)).toHaveLength(life.stays === true ? 1 : 0);
  });

  it('survives every outcome of every single call to the service', async () => {
    const quiet = await arranged(life);
    const first = quiet.calls;
    await wholeLife(quiet, life);
    const last = quiet.calls;
    const wrong: string[] = [];
    for (let nth = first + 1; nth <= last; nth += 1) {
      for (const { name, is } of disturbances) {
        const world = await arranged(life);
        let where = '';
        world.interference = ({ count, method, path }) => {
          if (count !== nth) return undefined;
          where = `${method} ${path}`;
          return is;
        };
        const flaws = await wholeLife(world, life);
        counted.plans += 1;
        counted.transitions += 3;
        wrong.push(...flaws.map((flaw) => `call ${nth} (${where}), ${name}: ${flaw}`));
      }
    }
    expect(wrong).toEqual([]);
  }, 300_000);

  it('survives the death of the process before and after every single call to the service', async () => {
    const quiet = await arranged(life);
    const first = quiet.calls;
    await wholeLife(quiet, life);
    const last = quiet.calls;
    const wrong: string[] = [];
    for (let nth = first + 1; nth <= last; nth += 1) {
      for (const is of ['hangBefore', 'hangAfter'] as const) {
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
        counted.plans += 1;
        counted.transitions += 3;
        wrong.push(...flaws.map((flaw) => `call ${nth} (${hit}), ${is}: ${flaw}`));
      }
    }
    expect(wrong).toEqual([]);
  }, 300_000);

  it('survives the death of the process before and after every single write to Kubernetes', async () => {
    const isWrite = (verb: string) => ['create', 'replace', 'replaceStatus', 'patch', 'get'].includes(verb);
    const quiet = await arranged(life);
    const first = quiet.kube.calls.filter(({ verb }) => isWrite(verb)).length;
    await wholeLife(quiet, life);
    const last = quiet.kube.calls.filter(({ verb }) => isWrite(verb)).length;
    const wrong: string[] = [];
    for (let nth = 0; nth < last - first; nth += 1) {
      for (const effect of ['before', 'after'] as const) {
        for (const outcome of ['hang', 'unavailable', 'conflict'] as const) {
          if (outcome === 'conflict' && effect === 'after') continue;
          const world = await arranged(life);
          let isDead = false;
          world.kube.inject({ after: nth, effect, outcome, times: 1 });
          const flaws = await wholeLife(world, life, async () => {
            if (outcome !== 'hang' || isDead) return;
            isDead = true;
            await world.crash(120_000);
          });
          counted.plans += 1;
          counted.transitions += 3;
          wrong.push(...flaws.map((flaw) => `write ${nth}, ${effect} ${outcome}: ${flaw}`));
        }
      }
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
