import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

const loopback = '127.0.0.1';
/** Stay below the ports that Linux gives to outgoing connections (from 32768): a connection could take the port first. */
const [lowest, above] = [20_000, 32_000];
const mostTries = 50;

/** Finds `count` different ports on 127.0.0.1 that are free at this moment. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const held: Held[] = [];
  while (held.length < count) held.push(await holdAny());
  const ports = held.map(({ port }) => port);
  await Promise.all(held.map(({ close }) => close()));
  return ports;
}

/** Whether a port on 127.0.0.1 is free at this moment. */
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

/** Listens on a random free port; after many that are taken, lets the system choose one. */
async function holdAny(): Promise<Held> {
  for (let tries = 0; tries < mostTries; tries += 1) {
    const held = await hold(randomInt(lowest, above)).catch(() => undefined);
    if (held !== undefined) return held;
  }
  return hold(0);
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
