import { reasonOf } from '../cannot-start.ts';

/** Shows the progress of starting the sandbox to the person who waits for it. */
export interface Progress {
  /** Prints that one step of starting the sandbox is finished. */
  readonly say: (text: string) => void;
  /**
   * Runs a step that may take long; prints that the step begins, its progress as reported through `detail`, and that the step
   * ended.
   */
  readonly during: <T>(step: string, work: (detail: (text: string) => void) => Promise<T>) => Promise<T>;
}

/**
 * The function `detail`, with which a long step of starting the sandbox reports its progress, and the signal that stops the
 * step.
 */
export interface Work {
  readonly detail: (text: string) => void;
  readonly signal: AbortSignal;
}

/** The stream to which progress is written. It tells whether it is a terminal, and how wide the terminal is. */
export interface Screen {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly write: (text: string) => unknown;
}

const plainEveryMs = 15_000;
const liveEveryMs = 500;

/** Shows progress: on a terminal in one line that is updated, in a file with a new line every 15 seconds. */
export function progressOn(screen: Screen, now: () => number = () => performance.now()): Progress {
  const startedAt = now();
  const live = screen.isTTY === true;
  const line = (text: string) => `${seconds(now() - startedAt)}  ${text}`;
  const say = (text: string) => void screen.write(`${line(text)}\n`);

  async function during<T>(step: string, work: (detail: (text: string) => void) => Promise<T>): Promise<T> {
    const began = now();
    let latest = '';
    const took = () => seconds(now() - began).trim();
    const status = () => `${step}${latest === '' ? '' : `: ${latest}`} (${took()})`;
    const tick = () => {
      if (live) screen.write(`\r\u001B[2K${line(status()).slice(0, (screen.columns ?? 80) - 1)}`);
      else say(status());
    };
    const clear = () => {
      if (live) screen.write('\r\u001B[2K');
    };
    if (live) tick();
    else say(`${step} …`);
    const timer = setInterval(tick, live ? liveEveryMs : plainEveryMs);
    try {
      const result = await work((text) => {
        latest = text;
      });
      clear();
      say(`${step}: done in ${took()}`);
      return result;
    } catch (error) {
      clear();
      const [reason] = reasonOf(error).split('\n', 1);
      say(`${step}: failed after ${took()}: ${reason}`);
      throw error;
    } finally {
      clearInterval(timer);
    }
  }

  return { say, during };
}

/** Formats a duration, right-aligned for a column: ` 12.3 s`, `2 min 05 s`. */
export function seconds(ms: number): string {
  if (ms < 100_000) return `${(ms / 1000).toFixed(1)} s`.padStart(7);
  const whole = Math.round(ms / 1000);
  return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, '0')} s`;
}
