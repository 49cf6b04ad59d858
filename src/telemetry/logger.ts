import { pino, type DestinationStream, type Level, type Logger } from 'pino';

const mostWaitingBytes = 4 * 1024 * 1024;

/**
 * Opens the log, which writes lines of JSON, or readable lines for a terminal. Callers pass names and numbers, never contents
 * or secrets.
 */
export function openLog(level: Level, readable: boolean): Logger {
  const base = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime };
  if (!readable) return pino({ ...base, formatters: { level: (label) => ({ level: label }) } }, standardOutput());
  return pino(base, { write: (line: string) => void process.stdout.write(`${readableLine(line)}\n`) });
}

/** Opens standard output for the log. A write never waits for the reader; if the reader is too slow, lines are lost. */
function standardOutput(): DestinationStream {
  const destination = pino.destination({ dest: 1, sync: false, maxLength: mostWaitingBytes });
  process.once('exit', () => destination.flushSync());
  return destination;
}

function readableLine(line: string): string {
  const { level, time, msg, ...fields }: Record<string, unknown> = JSON.parse(line);
  const rest = Object.entries(fields).map(([name, value]) => {
    return `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`;
  });
  return `${String(time).slice(11, 19)} ${(pino.levels.labels[Number(level)] ?? String(level)).padEnd(5)} ${String(msg)}  ${rest.join(' ')}`;
}
