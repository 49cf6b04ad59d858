import { describe, expect, it } from 'vitest';
import { aWorld, commits, conditionOf, messageOf, newest } from '../../kinds/support/world.ts';
import type { InProcess } from '../../support/in-process.ts';

const baseUrl = 'http://127.0.0.1:8088';
const useToken = (world: InProcess, token: string) => world.secret('hosting-credentials', { baseUrl, token });

/** An app that the service builds from its source, with an environment `env_src`; its id. */
async function fromSource(world: InProcess): Promise<string> {
  const git = { gitNamespace: 'a', gitRepo: 'b', gitInstallationId: 'c' };
  const { body } = await world.request('POST', '/app', { accountId: 'acc_demo', name: 'src', port: 1, ...git });
  const { appId } = body as { appId: string };
  const environment = { appEnvId: 'env_src', appId, name: 'prod', region: 'eu-west', gitBranch: 'main' };
  await world.control('POST', '/environments', environment);
  await world.run(61_000);
  return appId;
}

describe('what the service refused', () => {
  it('is sent at once when the spec is corrected, though only in a part of the request', async () => {
    const world = await aWorld();
    await fromSource(world);
    const build = (more: object) => ({ externalId: 'env_src', deploy: { build: { revision: 'a', ...more } } });
    world.apply('AppEnvironment', 'e', build({ fromContentId: 'nope' }));
    await world.run(10_000);
    expect(conditionOf(world, 'AppEnvironment', 'e')).toBe('False/Rejected');
    const from = await newest(world);

    world.apply('AppEnvironment', 'e', build({}));
    await world.run(5_000);

    expect((await commits(world, from)).map(({ kind }) => kind)).toContain('environment.deployed');
  });

  it.each([
    ['demo-readonly', 'ContactPoint', /contact point/],
    ['demo-member', 'ContactPoint', /contact point/],
    ['demo-readonly', 'DisasterProtection', /set up the protection/],
    ['demo-member', 'DisasterProtection', /set up the protection/],
  ])('is sent at once with another token than %s: %s', async (token, kind, words) => {
    const target = { environmentName: 'recovered', appName: 'orders-db-recovered', createNewApp: true };
    const spec =
      kind === 'ContactPoint'
        ? { email: { addresses: ['a@example.com'] } }
        : {
            environmentRef: { externalId: 'env_db_prod' },
            destinationRegion: 'us-east',
            protectionMode: 'Cold',
            target,
          };
    const world = await aWorld();
    useToken(world, token);
    await world.run(5_000);
    world.apply(kind, 'it', spec);
    await world.run(120_000);
    expect(conditionOf(world, kind, 'it')).toBe('False/Forbidden');
    await world.run(40_000);
    expect(conditionOf(world, 'HostingAccount', 'default')).toBe('True/InSync');
    expect(conditionOf(world, 'HostingAccount', 'default', 'TokenLimited')).toBe('True/Forbidden');
    expect(messageOf(world, 'HostingAccount', 'default', 'TokenLimited')).toMatch(words);

    useToken(world, 'demo-admin');
    await world.run(15_000);

    expect(conditionOf(world, kind, 'it')).toMatch(/InSync|Preparing/);
  });

  it('is sent at once when what the spec refers to was changed', async () => {
    const world = await aWorld();
    const source = { git: { namespace: 'a', repo: 'b', installationId: 'c' } };
    const app = { externalId: await fromSource(world), name: 'src', port: 1 };
    world.apply('HostedApp', 'src', { ...app, source });
    const deploy = { image: 'registry.example.com/x:1' };
    world.apply('AppEnvironment', 'e', { appRef: { name: 'src' }, environmentName: 'prod', deploy });
    await world.run(70_000);
    expect(messageOf(world, 'AppEnvironment', 'e')).toContain('useImage');

    world.apply('HostedApp', 'src', { ...app, image: { reference: 'registry.example.com/x:0' } });
    await world.run(20_000);

    expect(conditionOf(world, 'AppEnvironment', 'e')).toBe('True/InSync');
  });

  it('is not sent at every change of something else', async () => {
    const world = await aWorld();
    world.interference = ({ method, path, body = '' }) =>
      method === 'POST' && path.endsWith('/contact-point') && body.includes('"cp"')
        ? { insteadOf: { status: 400, text: '{"error":"no room"}' } }
        : undefined;
    world.apply('ContactPoint', 'cp', { email: { addresses: ['a@example.com'] } });

    for (let at = 0; at < 20; at += 1) {
      world.apply('ContactPoint', `other-${at}`, { email: { addresses: ['a@example.com'] } });
      await world.run(15_000);
    }

    expect(conditionOf(world, 'ContactPoint', 'cp')).toBe('False/Rejected');
    expect(world.sent.filter(({ body }) => body.includes('"cp"'))).toHaveLength(1);
  });
});
