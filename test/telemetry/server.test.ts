import { networkInterfaces } from 'node:os';
import { request } from 'undici';
import { describe, expect, it, onTestFinished } from 'vitest';
import { hostAndPort } from '../../src/config.ts';
import { serveProbes } from '../../src/telemetry/server.ts';

const probes = {
  alive: () => undefined,
  ready: () => 'a watch is silent',
  metrics: async () => 'apphosting_leader 1\n',
};
const hasSix = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === '::1'));

async function served(text: string): Promise<number> {
  const { host } = hostAndPort().parse(text);
  const server = await serveProbes({ host, port: 0 }, probes);
  onTestFinished(() => server.close());
  return server.port;
}

describe('probes without a host', () => {
  it.each(['127.0.0.1', ...(hasSix ? ['[::1]'] : [])])('answer on %s', async (address) => {
    const port = await served(':8080');

    const { statusCode, body } = await request(`http://${address}:${port}/metrics`);

    expect([statusCode, await body.text()]).toEqual([200, 'apphosting_leader 1\n']);
  });
});

describe('probes with a host', () => {
  it('are served there only', async () => {
    const port = await served('127.0.0.2:8080');

    const { statusCode, body } = await request(`http://127.0.0.2:${port}/readyz`);
    await body.dump();

    expect(statusCode).toBe(503);
    await expect(request(`http://127.0.0.1:${port}/readyz`)).rejects.toThrow('ECONNREFUSED');
  });
});
