import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';

const loopback = '127.0.0.1';
/**
 * The range of ports to choose from. The range stays below the ports that Linux gives to outgoing connections (from
 * 32768), because an outgoing connection could take a port before the sandbox uses it.
 */
const [lowest, above] = [20_000, 32_000];
const mostTries = 50;

/** Finds `count` different ports of 127.0.0.1 that are free at this moment. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const held: Server[] = [];
  while (held.length < count) held.push(await holdAny());
  const ports = held.map((server) => (server.address() as AddressInfo).port);
  await Promise.all(held.map((server) => server[Symbol.asyncDispose]()));
  return ports;
}

/** True if a port on 127.0.0.1 is free at this moment. */
export async function isFree(port: number): Promise<boolean> {
  try {
    await (await hold(port))[Symbol.asyncDispose]();
    return true;
  } catch {
    return false;
  }
}

/**
 * Listens on a random free port, so that no other program can take the port. If many random ports are taken, lets the system
 * choose one.
 */
async function holdAny(): Promise<Server> {
  for (let tries = 0; tries < mostTries; tries += 1) {
    const held = await hold(randomInt(lowest, above)).catch(() => undefined);
    if (held !== undefined) return held;
  }
  return hold(0);
}

async function hold(port: number): Promise<Server> {
  const server = createServer().listen({ port, host: loopback, exclusive: true });
  await once(server, 'listening');
  return server;
}
