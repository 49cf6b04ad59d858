import type { Clock, Entropy } from '../../src/base/time.ts';
import { randomUUID } from 'node:crypto';
import type { KubeAccess, KubeCredentials } from '../../src/kube/credentials/configuration.ts';
import { Secret } from '../../src/base/json.ts';

/** Time as it is, for what runs over real sockets. */
export const realClock: Clock = {
  wall: () => Date.now(),
  monotonic: () => performance.now(),
  after: (delayMs, wake) => {
    const timer = setTimeout(wake, delayMs);
    return () => clearTimeout(timer);
  },
};

/** Time as it is, of which a test skips what it need not wait for. */
export class SkippedTime implements Clock {
  readonly #waits = new Set<{ readonly at: number; readonly wake: () => void }>();
  #skippedMs = 0;

  wall(): number {
    return realClock.wall();
  }

  monotonic(): number {
    return realClock.monotonic() + this.#skippedMs;
  }

  after(delayMs: number, wake: () => void): () => void {
    const end = (): void => {
      cancel();
      this.#waits.delete(wait);
    };
    const wait = {
      at: this.monotonic() + delayMs,
      wake: () => {
        end();
        wake();
      },
    };
    const cancel = realClock.after(delayMs, wait.wake);
    this.#waits.add(wait);
    return end;
  }

  /** So much time is over at once, and every wait that ends in it. */
  skip(ms: number): void {
    this.#skippedMs += ms;
    const now = this.monotonic();
    for (const { at, wake } of this.#waits) if (at <= now) wake();
  }
}

/** Chance as it is. */
export const realEntropy: Entropy = { fraction: () => Math.random(), uuid: () => randomUUID() };

/** Credentials that show the tokens of a list, the next one each time that they are renewed. */
export function tokenCredentials(url: string, tokens: readonly string[] = ['planted-token']): KubeCredentials {
  const accesses: KubeAccess[] = tokens.map((token) => ({
    authorization: new Secret(`Bearer ${token}`),
    impersonation: {},
    tls: { ca: undefined, cert: undefined, key: undefined, serverName: undefined, insecure: false },
  }));
  let at = 0;
  const now = (): KubeAccess => {
    const access = accesses[Math.min(at, accesses.length - 1)];
    if (access === undefined) throw new Error('there is no token');
    return access;
  };
  return {
    server: new URL(url),
    proxy: undefined,
    title: 'the test',
    namespace: undefined,
    access: () => Promise.resolve(now()),
    renew: (refused) => {
      if (now() !== refused) return Promise.resolve(true);
      at += 1;
      return Promise.resolve(now() !== refused);
    },
  };
}

/** Waits until something is so, and fails with what was awaited when it is not in time. */
export async function eventually(what: string, isSo: () => boolean, deadlineMs = 60_000): Promise<void> {
  const until = performance.now() + deadlineMs;
  while (!isSo()) {
    if (performance.now() > until) throw new Error(`not so after ${deadlineMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
