import { CustomObjectsApi } from '@kubernetes/client-node';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ConnectedConfig } from '../../../src/kube/client/api-classes.ts';
import { json, scriptedServer } from '../../support/scripted-server.ts';

const one = { group: 'g', version: 'v1', namespace: 'n', plural: 'things', name: 'a' };

/** A server and a configuration for it; a silent one never answers. */
async function opened(isSilent = false, answerMs = 30_000) {
  const { url, connections } = await scriptedServer((response) => {
    if (!isSilent) json(response, 200, { metadata: {} });
  });
  const config = new ConnectedConfig(undefined, answerMs);
  config.loadFromClusterAndUser({ name: 'c', server: url, skipTLSVerify: true }, { name: 'u' });
  onTestFinished(() => config.close());
  return { api: config.makeApiClient(CustomObjectsApi), connections };
}

describe('the API classes', () => {
  it('share connections, where client-node opens one for each call', async () => {
    const { api, connections } = await opened();

    for (let times = 0; times < 10; times += 1) await api.getNamespacedCustomObject(one);

    expect(connections()).toBeLessThan(5);
  });

  it('give up on a server that never answers', async () => {
    const { api } = await opened(true, 50);

    await expect(api.getNamespacedCustomObject(one)).rejects.toThrow();
  });
});
