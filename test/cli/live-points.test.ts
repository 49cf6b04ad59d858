/** The recovery points as a command gets them from the service itself. */
import { describe, expect, it } from 'vitest';
import { accessOf, pointsFrom, type ReadObjects } from '../../src/cli/live-points.ts';
import { realClock, realEntropy } from '../../src/cli/run.ts';
import { Secret } from '../../src/base/secret.ts';
import { KubeError } from '../../src/engine/ports.ts';
import { openHosting } from '../../src/hosting/open.ts';
import type { Wire } from '../../src/hosting/wire/wire.ts';
import { received } from '../support/disturbed-wire.ts';
import { aProtectedWorld, protection, statusOf } from '../disaster/support.ts';

const none = { baseUrl: undefined, tokenFile: undefined, accountId: undefined };
const flags = { ...none, allowedHosts: [], allowPrivateAddresses: false, allowInsecureLoopback: true };
const encoded = (text: string) => Buffer.from(text).toString('base64');

const api: ReadObjects = {
  account: (name) =>
    Promise.resolve(
      name === 'default' ? { spec: { externalId: 'acc_demo', credentialsRef: { name: 'credentials' } } } : undefined,
    ),
  secret: () => Promise.resolve({ data: { baseUrl: encoded('http://127.0.0.1:8088\n'), token: encoded('made-up') } }),
};
const forbidden: ReadObjects = { ...api, secret: () => Promise.reject(new KubeError('forbidden', 'no')) };

describe('how the service is reached', () => {
  const about = { namespace: 'team', spec: { environmentRef: { externalId: 'env_1' } } };

  it('is what the account of the protection says', async () => {
    const access = await accessOf(api, about, flags);

    expect(access).toMatchObject({ baseUrl: 'http://127.0.0.1:8088', accountId: 'acc_demo' });
    expect(typeof access === 'object' && access.token.reveal()).toBe('made-up');
  });

  it.each([
    [
      'the Secret may not be read',
      forbidden,
      about,
      flags,
      'you may not read the Secret of its account; give --base-url',
    ],
    [
      'there is no such account',
      api,
      { ...about, spec: { ...about.spec, accountRef: { name: 'other' } } },
      flags,
      'there is no HostingAccount team/other; give',
    ],
    [
      'the account is of the whole cluster',
      api,
      { ...about, spec: { ...about.spec, accountRef: { kind: 'ClusterHostingAccount' as const, name: 'all' } } },
      flags,
      'is not in this namespace; give',
    ],
    [
      'the saved token would go to another host',
      api,
      about,
      { ...flags, baseUrl: 'https://elsewhere.example.com' },
      'another host than Secret team/credentials names',
    ],
    ['there is no token file', api, about, { ...flags, tokenFile: '/nowhere/token' }, 'there is no such file'],
  ])('is told as missing when %s', async (_because, from, of, given, words) => {
    expect(await accessOf(from, of, given)).toContain(words);
  });
});

describe('the points of the service', () => {
  it('are all that it lists, over all pages, newest first', async () => {
    const world = await aProtectedWorld();
    const { externalId: configurationId } = protection(world);
    await world.control('POST', `/configurations/${configurationId}/points`, { count: 130 });
    const wire: Wire = async (request) => {
      request.start();
      const { method, headers, path } = request;
      return received(await world.service.handle({ method, url: path, headers }), request.signal);
    };
    const silent = () => undefined;
    const hosting = openHosting({
      clock: realClock,
      entropy: realEntropy,
      log: { debug: silent, info: silent, warn: silent, error: silent },
      metrics: { count: silent, gauge: silent, observe: silent },
      callMs: 30_000,
      hostRules: { allowedHosts: [], allowInsecureLoopback: true, allowPrivateAddresses: false, proxy: undefined },
      wire,
    });
    const access = {
      baseUrl: 'http://127.0.0.1:8088',
      token: new Secret('demo-admin'),
      caBundle: undefined,
      accountId: 'acc_demo',
    };
    const spec = { environmentRef: { externalId: 'env_db_prod' } };
    const facts = statusOf(world, 'DisasterProtection', 'orders');
    const listed = await pointsFrom(hosting, access, { namespace: 'team', configurationId, spec, facts });

    const moments = 'points' in listed ? listed.points.map(({ cutoffTime }) => cutoffTime) : [];
    expect(moments.length).toBeGreaterThanOrEqual(130);
    expect(moments).toEqual(moments.toSorted().toReversed());

    const wrong = { ...access, token: new Secret('nobody') };
    expect(await pointsFrom(hosting, wrong, { namespace: 'team', configurationId, spec, facts })).toHaveProperty('why');
  });
});
