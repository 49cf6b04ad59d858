import { createServer } from 'node:http';
import { CustomObjectsApi } from '@kubernetes/client-node';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ConnectedConfig } from '../../../src/kube/client/api-classes.ts';

const one = { group: 'g', version: 'v1', namespace: 'n', plural: 'things', name: 'a' };

/** A server that counts its connections, and a configuration for it; a silent one never answers. */
async function opened(isSilent = false, answerMs = 30_000) {
  let connections = 0;
  const server = createServer((_request, response) => {
    if (isSilent) return;
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"metadata":{}}');
  });
  server.on('connection', () => (connections += 1));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`;
  const config = new ConnectedConfig(undefined, answerMs);
  config.loadFromClusterAndUser({ name: 'c', server: url, skipTLSVerify: true }, { name: 'u' });
  onTestFinished(async () => {
    await config.close();
    server.closeAllConnections();
    server.close();
  });
  return { api: config.makeApiClient(CustomObjectsApi), connections: () => connections };
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
