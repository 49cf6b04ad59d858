import { once } from 'node:events';
import { stderr, stdout } from 'node:process';
import { parseArgs } from 'node:util';

import { BadOption } from './bad-option.ts';
import { type StartOptions, startSimulator } from './start.ts';

const usage = `apphosting simulator [options]: simulates the hosting service on this machine

  --listen HOST:PORT     address to listen on (default 127.0.0.1:8088); port 0 picks a free port
  --world WORLD          data at the start: demo (the default), empty, or a file with saved data
  --state FILE           save all data in this file, and continue from it at the next start
  --clock real|virtual   clock of the simulator (default real); a virtual clock moves only on request
  --reading NAME=VALUE   choose a behavior that the API leaves open, such as lists.order=shuffled; may be given several times
  --rate-limit N         requests a second that each token may send
  --latency MS           delay of every public request, in milliseconds
`;

/** The output streams of the command `apphosting simulator`. */
interface Speaks {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

const standard: Speaks = { out: (text) => stdout.write(text), err: (text) => stderr.write(text) };

/** Runs the simulator until SIGTERM or SIGINT; returns the exit code. */
export async function simulator(args: readonly string[], speaks: Speaks = standard): Promise<number> {
  try {
    const options = optionsFrom(args);
    if (options === undefined) {
      speaks.out(usage);
      return 0;
    }
    return await run(options, speaks);
  } catch (error) {
    const isMeant = error instanceof BadOption || isBadArgument(error);
    speaks.err(`apphosting simulator: ${isMeant ? (error as Error).message.split('\n')[0] : String(error)}\n`);
    return isMeant ? 2 : 1;
  }
}

async function run(options: StartOptions, { out, err }: Speaks): Promise<number> {
  const started = await startSimulator({ ...options, log: (line) => err(`${line}\n`) });
  const signal = new AbortController();
  const ended = Promise.race(['SIGTERM', 'SIGINT'].map((name) => once(process, name, { signal: signal.signal })));
  out(`simulator listening on ${started.url}\n`);
  await ended.finally(() => signal.abort());
  await started.close();
  return 0;
}

function isBadArgument(error: unknown): boolean {
  return error instanceof TypeError && String((error as NodeJS.ErrnoException).code).startsWith('ERR_PARSE_ARGS');
}

function optionsFrom(args: readonly string[]): StartOptions | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      listen: { type: 'string', default: '127.0.0.1:8088' },
      world: { type: 'string', default: 'demo' },
      state: { type: 'string' },
      clock: { type: 'string', default: 'real' },
      reading: { type: 'string', multiple: true, default: [] },
      'rate-limit': { type: 'string' },
      latency: { type: 'string', default: '0' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) return undefined;
  const { clock, world, state } = values;
  if (clock !== 'real' && clock !== 'virtual') throw new BadOption(`--clock must be real or virtual, not "${clock}"`);
  const rate = values['rate-limit'];
  return {
    ...addressFrom(values.listen),
    world,
    clock,
    ...(state === undefined ? {} : { state }),
    latencyMs: wholeFrom('--latency', values.latency, 0, 600_000),
    readings: {
      ...Object.fromEntries(values.reading.map(readingFrom)),
      ...(rate === undefined ? {} : { 'rate.limit': wholeFrom('--rate-limit', rate, 1, 1_000_000) }),
    },
  };
}

function addressFrom(listen: string): { readonly host: string; readonly port: number } {
  const [, bracketed, plain, port = ''] = /^(?:\[(.+)\]|([^:]+)):(\d{1,5})$/.exec(listen) ?? [];
  const host = bracketed ?? plain;
  if (host === undefined || Number(port) > 65_535)
    throw new BadOption(`--listen must be HOST:PORT or [IPV6]:PORT with a port up to 65535, not "${listen}"`);
  return { host, port: Number(port) };
}

function readingFrom(pair: string): readonly [string, string] {
  const mark = pair.indexOf('=');
  if (mark <= 0) throw new BadOption(`--reading must have the form NAME=VALUE, not "${pair}"`);
  return [pair.slice(0, mark), pair.slice(mark + 1)];
}

function wholeFrom(flag: string, given: string, min: number, max: number): number {
  const value = Number(given);
  if (!/^\d+$/.test(given) || value < min || value > max)
    throw new BadOption(`${flag} must be a whole number between ${min} and ${max}, not "${given}"`);
  return value;
}
