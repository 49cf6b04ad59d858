import process from 'node:process';

/** The wish to end: Ctrl-C, SIGTERM, a closed terminal, or the end of the program that launched us. */
export interface StopSignal extends Disposable {
  readonly signal: AbortSignal;
}

/** Turns these signals into one abort; further signals change nothing. */
export function stopSignal(): StopSignal {
  const stop = new AbortController();
  const names = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  const listeners = names.map((name) => [name, () => stop.abort(name)] as const);
  for (const [name, listener] of listeners) process.on(name, listener);
  // `npm start` holds a channel to us; it closes when that process is killed, whatever the signal.
  const disconnected = () => stop.abort('disconnect');
  process.once('disconnect', disconnected);
  return {
    signal: stop.signal,
    [Symbol.dispose]: () => {
      for (const [name, listener] of listeners) process.off(name, listener);
      process.off('disconnect', disconnected);
    },
  };
}
