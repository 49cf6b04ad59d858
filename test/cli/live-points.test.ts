/** The recovery points as a command gets them from the service itself. */
import { describe, expect, it } from 'vitest';
import { credentialOfAccount } from '../../src/cli/account/in-cluster.ts';
import { addressOf, type AccountReader } from '../../src/cli/account/reader.ts';
import { livePoints, pointsFrom } from '../../src/cli/protection.ts';
import { KubeError, type KubeApi, type KubeObject } from '../../src/engine/ports.ts';
import { aProtectedWorld, protection as protectionIn } from '../disaster/support.ts';

const encoded = (text: string) => Buffer.from(text).toString('base64');
const credentialsRef = { name: 'credentials' };
const data = { baseUrl: encoded('http://127.0.0.1:8088\n'), token: encoded('made-up') };
const [operatorNamespace, namespace] = ['operators', 'team'];

/** A cluster with a HostingAccount, a ClusterHostingAccount, and the Secret of each. */
const api: Pick<KubeApi, 'get'> = {
  get: ({ plural }, at, name) => {
    const objects: Readonly<Record<string, object>> = {
      'hostingaccounts/team/default': { spec: { externalId: 'acc_demo', credentialsRef } },
      'clusterhostingaccounts//all': { spec: { externalId: 'acc_all', credentialsRef } },
      'secrets/team/credentials': { data },
      'secrets/operators/credentials': { data },
    };
    return Promise.resolve(objects[`${plural}/${at ?? ''}/${name}`] as KubeObject | undefined);
  },
};
const forbidden: Pick<KubeApi, 'get'> = {
  get: (resource, at, name) =>
    resource.plural === 'secrets' ? Promise.reject(new KubeError('forbidden', 'no')) : api.get(resource, at, name),
};

describe('the credential of an account of the cluster', () => {
  it.each([
    ['HostingAccount', 'default', 'acc_demo'],
    ['ClusterHostingAccount', 'all', 'acc_all'],
  ])('of a %s is in the Secret that it names', async (kind, name, accountId) => {
    const found = await credentialOfAccount(api, { kind, name, namespace, operatorNamespace });

    expect(found).toMatchObject({ baseUrl: 'http://127.0.0.1:8088', accountId });
    expect(found.token.reveal()).toBe('made-up');
  });

  it.each([
    [
      'the Secret may not be read',
      forbidden,
      'HostingAccount',
      'default',
      'you are not allowed to read Secret team/credentials',
    ],
    ['there is no such account', api, 'HostingAccount', 'other', 'there is no HostingAccount team/other; give'],
    ['it is no account', api, 'HostedApp', 'web', 'HostedApp is neither HostingAccount nor ClusterHostingAccount'],
  ])('is told as missing when %s', async (_because, from, kind, name, words) => {
    const found = credentialOfAccount(from, { kind, name, namespace, operatorNamespace });

    await expect(found).rejects.toThrow(words);
  });
});

describe('the points of the service', () => {
  const protection = { configurationId: 'cfg_1', namespace, spec: { environmentRef: { externalId: 'e' } }, facts: {} };
  const none = { baseUrl: undefined, tokenFile: undefined, accountId: undefined, caFile: undefined };
  const rest = {
    allowedHosts: [],
    allowPrivateAddresses: false,
    allowInsecureLoopback: true,
    requestsPerSecond: 1_000,
  };

  it('are all that it lists, over all pages, newest first', async () => {
    const world = await aProtectedWorld();
    const { externalId: configurationId } = protectionIn(world);
    await world.control('POST', `/configurations/${configurationId}/points`, { count: 130 });
    const reader: Pick<AccountReader, 'accountId' | 'read'> = {
      accountId: 'acc_demo',
      read: async (request) => ({ is: 'answered', ...(await world.request('GET', addressOf(request))) }),
    };

    const listed = await pointsFrom(reader, { ...protection, configurationId });

    const moments = 'points' in listed ? listed.points.map(({ cutoffTime }) => cutoffTime) : [];
    expect(moments.length).toBeGreaterThanOrEqual(130);
    expect(moments).toEqual(moments.toSorted().toReversed());
  });

  it('cannot be had where nobody may read the Secret, and nobody was asked', async () => {
    const listed = await livePoints(forbidden, protection, { ...none, ...rest, operatorNamespace });

    expect(listed).toMatchObject({ asked: false, why: expect.stringContaining('you are not allowed to read Secret') });
  });

  it('cannot be had from a host that is not allowed, which is named where it is given', async () => {
    const settings = { ...none, ...rest, allowInsecureLoopback: false, operatorNamespace };

    expect(await livePoints(api, protection, settings)).toEqual({
      asked: false,
      why: 'baseUrl of Secret team/credentials http://127.0.0.1:8088: the base URL names this machine itself, which is not allowed',
    });
  });
});
