import { describe, expect, it } from 'vitest';
import { atFirst } from '../../support/disturbed-wire.ts';
import type { InProcess } from '../../support/in-process.ts';
import { aWorld, conditionOf, statusOf } from '../support/world.ts';

const image = { port: 8080, image: { reference: 'r/mine:1' } };
const job = { preset: 'JOB', image: { reference: 'r/mine:1' } };

type Row = {
  readonly because: string;
  readonly first: object;
  readonly next: object;
  readonly holds: object;
  readonly leftover?: readonly string[];
};

const rows: readonly Row[] = [
  {
    because: 'another image',
    first: image,
    next: { ...image, image: { reference: 'r/mine:2' } },
    holds: { image: 'r/mine:1' },
  },
  {
    because: 'a path that was not checked before',
    first: image,
    next: { ...image, healthCheck: { path: '/new' } },
    holds: { image: 'r/mine:1' },
  },
  {
    because: 'a setting of a job, which nothing takes back',
    first: job,
    next: { ...job, jobConfig: { command: 'migrate' } },
    holds: { jobConfig: { command: 'migrate' } },
    leftover: ['jobConfig.command'],
  },
];

/** The app as the service holds it, with what it never shows. */
async function held(world: InProcess): Promise<Readonly<Record<string, unknown>>> {
  const { externalId: appId } = statusOf(world, 'HostedApp', 'api');
  const { collections } = (await world.control('GET', '/world')) as {
    collections: Readonly<Record<string, readonly Readonly<Record<string, unknown>>[]>>;
  };
  return collections['apps']?.find((app) => app['appId'] === appId) ?? {};
}

/** The first change of the app is carried out and its answer lost; meanwhile this happens. */
function loseChange(world: InProcess, meanwhile: () => void): void {
  world.interference = atFirst('PATCH /app', () => {
    meanwhile();
    return 'hangAfter';
  });
}

describe('a change of an app whose answer was lost and that was taken back', () => {
  it.each(rows)('is taken back in the service too: $because', async ({ first, next, holds, leftover }) => {
    const world = await aWorld();
    world.apply('HostedApp', 'api', first);
    await world.run(70_000);
    loseChange(world, () => void world.apply('HostedApp', 'api', first));
    world.apply('HostedApp', 'api', next);
    // The lost change may still arrive for a while, and what took it back is sent once more then.
    await world.run(900_000);

    expect(conditionOf(world, 'HostedApp', 'api')).toBe('True/InSync');
    const app = await held(world);
    expect(app).toMatchObject(holds);
    expect(app['healthCheckPath']).toBeUndefined();
    expect(statusOf(world, 'HostedApp', 'api')['leftover']).toEqual(leftover);
  });

  it.each(rows)(
    'is taken back though the operator died over it: $because',
    async ({ first, next, holds, leftover }) => {
      const world = await aWorld();
      world.apply('HostedApp', 'api', first);
      await world.run(70_000);
      loseChange(world, () => world.kill());
      world.apply('HostedApp', 'api', next);
      await world.run(1_000);
      world.apply('HostedApp', 'api', first);
      await world.crash(120_000);
      await world.run(900_000);

      expect(conditionOf(world, 'HostedApp', 'api')).toBe('True/InSync');
      const app = await held(world);
      expect(app).toMatchObject(holds);
      expect(app['healthCheckPath']).toBeUndefined();
      expect(statusOf(world, 'HostedApp', 'api')['leftover']).toEqual(leftover);
    },
  );

  it('is not sent again when the service certainly did not carry it out', async () => {
    const world = await aWorld();
    world.apply('HostedApp', 'api', image);
    await world.run(70_000);
    world.interference = ({ method, path }) =>
      method === 'PATCH' && path.endsWith('/app') ? { insteadOf: { status: 400, text: '{"error":"no"}' } } : undefined;
    world.apply('HostedApp', 'api', { ...image, image: { reference: 'r/mine:2' } });
    await world.run(10_000);
    const refused = conditionOf(world, 'HostedApp', 'api');
    world.apply('HostedApp', 'api', image);
    await world.run(130_000);

    expect(refused).toBe('False/Rejected');
    expect(conditionOf(world, 'HostedApp', 'api')).toBe('True/InSync');
    expect(world.sent.filter(({ method }) => method === 'PATCH')).toHaveLength(1);
  });
});

describe('a field that left the spec while the creation was in doubt', () => {
  const built = { port: 8080, source: { git: { namespace: 'team', repo: 'mine', installationId: '7' } } };
  const inFolder = { ...built, source: { ...built.source, contextDir: './web' } };

  it('is not part of the next creation, not even with the value that clears it', async () => {
    const world = await aWorld();
    world.interference = atFirst('POST /app', () => {
      world.apply('HostedApp', 'api', built);
      return 'loseBefore';
    });
    world.apply('HostedApp', 'api', inFolder);
    await world.run(900_000);

    expect(conditionOf(world, 'HostedApp', 'api')).toBe('True/InSync');
    const creations = world.sent.filter(({ method, path }) => method === 'POST' && path.endsWith('/app'));
    expect(creations.map(({ body }) => JSON.parse(body).contextDir)).toEqual(['./web', undefined]);
  });

  it('is cleared if that creation was carried out', async () => {
    const world = await aWorld();
    world.interference = atFirst('POST /app', () => {
      world.apply('HostedApp', 'api', built);
      return 'loseAnswer';
    });
    world.apply('HostedApp', 'api', inFolder);
    await world.run(900_000);

    expect(conditionOf(world, 'HostedApp', 'api')).toBe('True/InSync');
    expect(await held(world)).toMatchObject({ contextDir: './' });
  });
});
