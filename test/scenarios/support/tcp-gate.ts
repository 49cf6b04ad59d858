import { createServer, connect, type Socket } from 'node:net';

/** A gate in front of a server: connections pass, are cut, or freeze as they do behind a dead router. */
export interface TcpGate {
  readonly port: number;
  /** Ends what is open and refuses what comes. */
  readonly cut: () => void;
  /** Keeps everything open, and lets nothing through. */
  readonly freeze: () => void;
  readonly open: () => void;
  /** How many connections were refused. */
  readonly refused: () => number;
  readonly close: () => Promise<void>;
}

/** Opens a gate on loopback in front of a port on loopback. */
export async function tcpGate(target: number): Promise<TcpGate> {
  const sockets = new Set<Socket>();
  let refused = 0;
  let state: 'open' | 'cut' | 'frozen' = 'open';
  const server = createServer((near) => {
    if (state === 'cut') {
      refused += 1;
      return near.destroy();
    }
    const far = connect(target, '127.0.0.1');
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('data', (bytes) => {
        if (state !== 'frozen') to.write(bytes);
      });
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        if (state !== 'frozen') to.destroy();
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
      state = 'cut';
      endAll();
    },
    freeze: () => (state = 'frozen'),
    open: () => {
      // What froze stays dead: its bytes are lost.
      if (state === 'frozen') endAll();
      state = 'open';
    },
    close: () => {
      endAll();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
