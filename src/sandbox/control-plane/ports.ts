import { createServer } from 'node:net';

const loopback = '127.0.0.1';

/** As many ports of loopback as asked for, all free just now and all different. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const held = await Promise.all(Array.from({ length: count }, () => hold(0)));
  const ports = held.map(({ port }) => port);
  await Promise.all(held.map(({ close }) => close()));
  return ports;
}

/** Whether a port of loopback is free just now. */
export async function isFree(port: number): Promise<boolean> {
  try {
    await (await hold(port)).close();
    return true;
  } catch {
    return false;
  }
}

interface Held {
  readonly port: number;
  readonly close: () => Promise<void>;
}

function hold(port: number): Promise<Held> {
  const { promise, resolve, reject } = Promise.withResolvers<Held>();
  const server = createServer();
  server.once('error', reject);
  server.listen({ port, host: loopback, exclusive: true }, () => {
    const address = server.address();
    if (address === null || typeof address === 'string') return reject(new Error('a listening server has no port'));
    resolve({ port: address.port, close: () => new Promise((done) => void server.close(() => done())) });
  });
  return promise;
}
