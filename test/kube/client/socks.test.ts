import { createServer as createHttpsServer } from 'node:https';
import { connect, createServer, type Server } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { KubeClient } from '../../../src/kube/client/client.ts';
import { certificate, key } from '../../hosting/support/certificate.ts';
import { realClock, tokenCredentials } from '../../support/real-time.ts';
import { json } from '../../support/scripted-server.ts';
import { things } from '../example.ts';

async function listening(server: Server, host: string): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  return `${host}:${typeof address === 'object' ? address?.port : 0}`;
}

/** A proxy that lets everybody in, and takes addresses of IPv4 only. */
function socksProxy(): Server {
  return createServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.once('data', () => {
      socket.write(Buffer.from([5, 0]));
      socket.once('data', (asked: Buffer) => {
        const target = connect(asked.readUInt16BE(8), asked.subarray(4, 8).join('.'), () => {
          socket.write(Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]));
          socket.pipe(target).pipe(socket);
        });
        target.on('error', () => socket.destroy());
        onTestFinished(() => void target.destroy());
      });
    });
  });
}

/** What a list ends with at an API server of an address, through a SOCKS proxy. */
async function listedAt(host: string): Promise<string> {
  const server = createHttpsServer({ cert: certificate, key }, (_request, response) =>
    json(response, 200, { kind: 'ThingList', metadata: { resourceVersion: '7' }, items: [] }),
  );
  const url = `https://${await listening(server, host)}`;
  const proxy = new URL(`socks5://${await listening(socksProxy(), '127.0.0.1')}`);
  const bare = tokenCredentials(url);
  const access = await bare.access();
  const trusting = { ...access, tls: { ...access.tls, ca: certificate } };
  const api = new KubeClient({ ...bare, proxy, access: () => Promise.resolve(trusting) }, realClock);
  onTestFinished(() => api.close());
  return api.list(things, { limit: 1 }).then(
    ({ resourceVersion }) => `version ${resourceVersion}`,
    (error: unknown) => String(error),
  );
}

describe('a SOCKS proxy', () => {
  it('leads to an API server that is named by its address', async () => {
    expect(await listedAt('127.0.0.1')).toBe('version 7');
  });

  it('leads to no server whose certificate is for another address', async () => {
    expect(await listedAt('127.0.0.2')).toContain('ERR_TLS_CERT_ALTNAME_INVALID');
  });
});
