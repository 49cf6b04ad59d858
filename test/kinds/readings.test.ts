import { describe, expect, it } from 'vitest';
import { aWorld, commits, conditionOf, statusOf } from './support/world.ts';

/** What the interface leaves open, one switch at a time; those of a single kind stand with that kind. */
const readings: readonly (readonly [string, unknown])[] = [
  ['names.apps', 'unique'],
  ['rejection.status', 403],
  ['rejection.status', 409],
  ['errors.body', 'empty'],
  ['errors.body', 'nested'],
  ['get.wrapping', 'wrapped'],
  ['patch.response', 'empty'],
  ['envAccess.shape', 'appEnvIds'],
  ['envAccess.shape', 'environments'],
  ['lists.lagMs', 60_000],
  ['lists.order', 'shuffled'],
  ['cursor.end', 'null'],
  ['dates.form', 'seconds'],
  ['fields.extra', 'on'],
  ['fields.nulls', 'on'],
  ['fields.unknown', 'refused'],
  ['createApp.provisions', 'databases'],
];

const app = {
  port: 8080,
  source: { git: { namespace: 'team', repo: 'api', installationId: '7' }, contextDir: './api' },
  healthCheck: { path: '/healthz' },
};
const database = { preset: 'POSTGRESQL', port: 5432 };
const access = { externalId: 'mem_demo', access: 'Restricted', environmentRefs: [{ externalId: 'env_web_prod' }] };

describe('an app, a database and a restricted member', () => {
  it.each(readings)('are Ready, with nothing lost or doubled, when %s is %s', async (reading, value) => {
    const world = await aWorld({ readings: { [reading]: value } });
    world.apply('HostedApp', 'api', app);
    world.apply('HostedApp', 'db', database);
    world.apply('MemberAccess', 'm', access);
    await world.run(130_000);
    world.apply('HostedApp', 'api', { ...app, port: 9090, healthCheck: undefined });
    world.apply('MemberAccess', 'm', { ...access, environmentRefs: [{ externalId: 'env_db_prod' }] });
    await world.run(250_000);

    for (const [kind, name] of [
      ['HostedApp', 'api'],
      ['HostedApp', 'db'],
      ['MemberAccess', 'm'],
    ] as const) {
      statusOf(world, kind, name);
      expect(conditionOf(world, kind, name)).toBe('True/InSync');
    }
    const kinds = (await commits(world)).map(
      ({ kind, detail }) => `${kind} ${JSON.stringify(detail['fields'] ?? detail['allowedAppEnvIds'] ?? '')}`,
    );
    expect(kinds.filter((line) => !line.startsWith('environment.')).toSorted()).toEqual([
      'app.created ""',
      'app.created ""',
      'app.updated ["healthCheckPath"]',
      'app.updated ["port","healthCheckPath"]',
      'memberAccess.updated ["env_db_prod"]',
      'memberAccess.updated ["env_web_prod"]',
    ]);
  });
});
