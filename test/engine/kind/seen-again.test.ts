/** One look that does not find an object proves nothing, however long ago another one did not find it either. */
import { describe, expect, it } from 'vitest';
import { aWorld, conditionOf, contactPointByHand } from '../../kinds/support/world.ts';
import type { InProcess } from '../../support/in-process.ts';

/** The next answer from each of these paths is as if the service had nothing. */
function nothingOnce(world: InProcess, answers: Readonly<Record<string, { status: number; text: string }>>): void {
  const left = new Map(Object.entries(answers));
  world.interference = ({ method, path }) => {
    const [end, insteadOf] = [...left].find(([ending]) => method === 'GET' && path.endsWith(ending)) ?? [];
    if (end === undefined || insteadOf === undefined) return undefined;
    left.delete(end);
    return { insteadOf };
  };
}

/** The next list of environments has another one in the place of `env_web_staging`; whether that was read. */
function anotherOnce(world: InProcess): () => boolean {
  let left = 1;
  world.interference = ({ path }) => {
    if (left === 0 || !path.endsWith('/app-envs')) return undefined;
    left -= 1;
    return { retold: (text) => text.replaceAll('env_web_staging', 'env_other') };
  };
  return () => left === 0;
}

/** What Ready says while answers lack the object for a moment, on two days; the object is seen all the time in between. */
async function onTwoDays(
  world: InProcess,
  [kind, name]: readonly [string, string],
  answers: Readonly<Record<string, { status: number; text: string }>>,
): Promise<ReadonlySet<string | undefined>> {
  const said = new Set<string | undefined>();
  for (let day = 0; day < 2; day += 1) {
    nothingOnce(world, answers);
    for (let count = 0; count < 40; count += 1) {
      await world.run(5_000);
      said.add(conditionOf(world, kind, name));
    }
    await world.run(3_600_000);
  }
  return said;
}

describe('an object that a look does not find on one day, and another look on another day', () => {
  it('is not gone, though each reconcile in between ended in a complaint', async () => {
    const world = await aWorld();
    world.secret('hook', { url: 'https://hook.example.com/one' });
    const externalId = await contactPointByHand(world, 'theirs');
    const hook = { chatB: { webhookUrl: { valueFrom: { secretKeyRef: { name: 'hook', key: 'url' } } } } };
    world.apply('ContactPoint', 'theirs', { ...hook, externalId });
    await world.run(130_000);

    const said = await onTwoDays(world, ['ContactPoint', 'theirs'], {
      '/contact-points': { status: 200, text: '{"contactPoints":[]}' },
      '/contact-point': { status: 404, text: '{"error":"no"}' },
    });

    expect(said).toEqual(new Set(['False/Immutable', 'False/ObjectMissing']));
  });

  it('is not gone either where it was paused in between, and nobody looked', async () => {
    const world = await aWorld();
    const spec = { appRef: { externalId: 'app_web' }, environmentName: 'staging' };
    world.apply('AppEnvironment', 'web', spec);
    // What is paused asks for nothing: somebody else keeps the list coming.
    world.apply('AppEnvironment', 'other', { appRef: { externalId: 'app_web' }, environmentName: 'production' });
    await world.run(130_000);
    anotherOnce(world);
    await world.run(70_000);
    expect(conditionOf(world, 'AppEnvironment', 'web')).toBe('False/ObjectMissing');
    world.apply('AppEnvironment', 'web', spec, { 'apphosting.dev/paused': 'true' });
    await world.run(3_600_000);
    const isRead = anotherOnce(world);
    while (!isRead()) await world.run(1_000);
    world.apply('AppEnvironment', 'web', spec);
    const said = new Set<string | undefined>();
    for (let count = 0; count < 120; count += 1) {
      await world.run(1_000);
      said.add(conditionOf(world, 'AppEnvironment', 'web'));
    }

    expect(said).toContain('False/ObjectMissing');
    expect(said).not.toContain('False/EnvironmentNotFound');
    expect(conditionOf(world, 'AppEnvironment', 'web')).toBe('True/InSync');
  });

  it('is not gone either where only lists show it', async () => {
    const world = await aWorld();
    world.apply('AppEnvironment', 'web', { appRef: { externalId: 'app_web' }, environmentName: 'staging' });
    await world.run(130_000);
    await world.control('PATCH', '/environments/env_web_staging', { name: 'renamed' });
    await world.run(130_000);

    const said = await onTwoDays(world, ['AppEnvironment', 'web'], {
      '/app-envs': { status: 200, text: '{"appEnvs":[]}' },
    });

    expect(said).toEqual(new Set(['False/EnvironmentChanged', 'False/ObjectMissing']));
  });
});
