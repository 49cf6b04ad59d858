import { createServer, connect, type Socket } from 'node:net';

/** A gate in front of a server: connections pass or are cut. */
export interface TcpGate {
  readonly port: number;
  /** Ends what is open and refuses what comes. */
  readonly cut: () => void;
  readonly open: () => void;
  /** How many connections were refused. */
  readonly refused: () => number;
  readonly close: () => Promise<void>;
}

/** Opens a gate on loopback in front of a port on loopback. */
export async function tcpGate(target: number): Promise<TcpGate> {
  const sockets = new Set<Socket>();
  let refused = 0;
  let isCut = false;
  const server = createServer((near) => {
    if (isCut) {
      refused += 1;
      return near.destroy();
    }
    const far = connect(target, '127.0.0.1');
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('data', (bytes) => to.write(bytes));
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
    return near;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const endAll = (): void => sockets.forEach((socket) => socket.destroy());
  return {
    port,
    refused: () => refused,
    cut: () => {
      isCut = true;
      endAll();
    },
    open: () => (isCut = false),
    close: () => {
      endAll();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
