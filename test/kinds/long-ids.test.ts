import { z } from 'zod';
import { describe, expect, it } from 'vitest';
import { fit } from '../../src/engine/kind/schema/schema.ts';
import { InternalStatus } from '../../src/engine/kind/schema/status.ts';
import { MemberAccessFacts as MemberFacts } from '../../src/kinds/member-access/schema.ts';
import { SolutionInstallationFacts as SolutionFacts } from '../../src/kinds/solution-installation/schema.ts';
import { aWorld, conditionOf, statusOf } from './support/world.ts';

/** As long as an id of the service may be. */
const long = (prefix: string) => `${prefix}_`.padEnd(256, 'x');

describe('an id of the service that is as long as ids may be', () => {
  it('is bound, and looked for by all of it', async () => {
    const world = await aWorld();
    const appEnvId = long('env');
    await world.control('POST', '/environments', { appEnvId, appId: 'app_web', name: 'long', region: 'eu-west' });
    world.apply('AppEnvironment', 'e', {
      appRef: { externalId: 'app_web' },
      environmentName: 'long',
      deploy: { image: 'r/x:1', onBind: 'Deploy' },
    });
    await world.run(300_000);

    expect(conditionOf(world, 'AppEnvironment', 'e')).toBe('True/InSync');
    expect(statusOf(world, 'AppEnvironment', 'e')['externalId']).toBe(appEnvId);
  });

  it.each([
    {
      what: 'a component',
      schema: SolutionFacts,
      value: { components: [{ name: 'api', appId: long('app'), environmentId: long('env') }] },
    },
    { what: 'a restriction', schema: MemberFacts, value: { environmentIds: [long('env')] } },
  ])('is whole in what is remembered of $what', ({ schema, value }) => {
    expect(fit<unknown>(schema, value).value).toEqual(value);
  });

  it('fits into the journal of a creation', () => {
    const create = { collection: 'apps', name: 'web', excluded: [long('app')] };
    const journal = {
      operation: 'create',
      attempt: 1,
      endpoint: 'api.example.com',
      accountId: 'acc_demo',
      startedAt: '2026-01-01T00:00:00Z',
      deadlineSeconds: 30,
      digest: 'd',
      create,
    };

    expect(z.object(InternalStatus).safeParse({ journal }).success).toBe(true);
  });
});
