import { describe, expect, it } from 'vitest';
import {
  aWorld,
  conditionOf,
  environmentOf,
  messageOf,
  newestRequest,
  statusOf,
  writesSince,
} from '../support/world.ts';

const kind = 'AppEnvironment';
const name = 'staging';
const annotation = 'apphosting.dev/redeploy-at';
const spec = { externalId: 'env_web_staging', deploy: { image: 'r/x:1', onBind: 'Deploy' } };

describe('a redeployment that an annotation asks for', () => {
  it.each([
    { because: 'a token that status cannot hold whole', token: 'x'.repeat(257) },
    { because: 'a token whose cut falls into a character', token: `x${'🚀'.repeat(300)}` },
  ])('is made once for $because', async ({ token }) => {
    const world = await aWorld();
    world.apply(kind, name, spec);
    await world.run(60_000);
    const before = await newestRequest(world);
    world.apply(kind, name, spec, { [annotation]: token });
    await world.run(600_000);
    await world.crash(120_000);
    await world.run(200_000);

    expect(await writesSince(world, before)).toEqual(['POST /app-env/redeploy 200']);
    expect(conditionOf(world, kind, name)).toBe('True/InSync');
  });

  it('is of the content version that the spec names', async () => {
    const { world, first } = await twoVersions();
    const back = { ...spec, deploy: { rollbackContentId: first } };
    world.apply(kind, name, back);
    await world.run(60_000);

    world.apply(kind, name, back, { [annotation]: 'now' });
    await world.run(60_000);

    expect(JSON.parse(world.sent.findLast(({ path }) => path.endsWith('/redeploy'))?.body ?? '')).toEqual({
      appEnvId: 'env_web_staging',
      contentId: first,
    });
    expect(conditionOf(world, kind, name)).toBe('True/InSync');
  });
});

/** An environment that had version 1 of its image and runs version 2. */
async function twoVersions() {
  const world = await aWorld();
  world.apply(kind, name, spec);
  await world.run(60_000);
  const first = (statusOf(world, kind, name)['deploy'] as { contentId: string }).contentId;
  world.apply(kind, name, { ...spec, deploy: { image: 'r/x:2' } });
  await world.run(60_000);
  return { world, first };
}

describe('a roll-back that an annotation asks for', () => {
  const next = { ...spec, deploy: { image: 'r/x:2' } };
  const asked = { 'apphosting.dev/roll-back-at': 'now' };
  const runs = async (world: Awaited<ReturnType<typeof aWorld>>) =>
    (await environmentOf(world, 'env_web_staging'))['currentContentId'];

  it.each([
    { because: 'all goes well', lost: undefined },
    { because: 'its answer is lost', lost: 'loseAnswer' as const },
    { because: 'it is lost on its way', lost: 'loseBefore' as const },
  ])('goes back to the version before, once, though $because and the operator restarts', async ({ lost }) => {
    const { world, first } = await twoVersions();
    let hits = 0;
    world.interference = ({ path }) => (path.endsWith('/rollback') && (hits += 1) === 1 ? lost : undefined);

    world.apply(kind, name, next, asked);
    await world.run(20_000);
    await world.crash(1_000);
    await world.run(600_000);
    await world.crash();
    await world.run(600_000);

    expect(await runs(world)).toBe(first);
    expect(conditionOf(world, kind, name)).toBe('True/RolledBack');
    expect(messageOf(world, kind, name)).toContain(
      'the spec is deployed again once it asks for a different deployment',
    );
    expect(hits).toBe(lost === 'loseBefore' ? 2 : 1);
  });

  it('says which version it went back to, and ends with the next change of the spec', async () => {
    const { world, first } = await twoVersions();
    world.apply(kind, name, next, asked);
    await world.run(60_000);
    const { deploy } = statusOf(world, kind, name);

    world.apply(kind, name, { ...spec, deploy: { image: 'r/x:3' } }, asked);
    await world.run(60_000);

    expect(deploy).toMatchObject({
      revision: 'r/x:1',
      contentId: first,
      rollback: { fromVersion: 3, toVersion: 2 },
      outcome: 'Running',
    });
    expect(statusOf(world, kind, name)['deploy']).toMatchObject({ revision: 'r/x:3', outcome: 'Running' });
    expect(conditionOf(world, kind, name)).toBe('True/InSync');
  });

  it('is told where the service refuses it', async () => {
    const world = await aWorld();
    const never = { ...spec, externalId: 'env_web_prod', deploy: { image: 'r/x:1' } };
    world.interference = ({ path }) =>
      path.endsWith('/rollback') ? { insteadOf: { status: 400, text: '{"error":"no previous"}' } } : undefined;
    world.apply(kind, name, never, {});
    await world.run(60_000);

    world.apply(kind, name, never, asked);
    await world.run(120_000);

    expect(conditionOf(world, kind, name)).toBe('False/RollbackRefused');
    expect(world.sent.filter(({ path }) => path.endsWith('/rollback'))).toHaveLength(1);
  });

  it('does not come with the first sight of an environment', async () => {
    const world = await aWorld();

    world.apply(kind, name, { externalId: 'env_web_prod', deploy: { image: 'r/x:1' } }, asked);
    await world.run(120_000);

    expect(world.sent.filter(({ path }) => path.endsWith('/rollback'))).toEqual([]);
    expect(statusOf(world, kind, name)['lastHandledRollBackAt']).toBe('now');
  });
});
