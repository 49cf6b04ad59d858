import { once } from 'node:events';
import { stderr, stdout } from 'node:process';
import { parseArgs } from 'node:util';

import { BadOption } from './bad-option.ts';
import { type StartOptions, startSimulator } from './start.ts';

const usage = `apphosting simulator [options]: the hosting service in a box

  --listen HOST:PORT     where to listen (127.0.0.1:8088); port 0 picks a free one
  --world WORLD          what it starts with: demo (the default), empty, or a file with a saved world
  --state FILE           keep every commit in this file, and go on from it
  --clock real|virtual   which clock runs (real)
  --reading NAME=VALUE   how to behave where the text is open; may be given again
  --rate-limit N         requests per second and token
  --latency MS           added to every public request
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
  if (clock !== 'real' && clock !== 'virtual') throw new BadOption(`--clock is real or virtual, not "${clock}"`);
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
  if (host === undefined || Number(port) > 65_535) throw new BadOption(`--listen is HOST:PORT, not "${listen}"`);
  return { host, port: Number(port) };
}

function readingFrom(pair: string): readonly [string, string] {
  const mark = pair.indexOf('=');
  if (mark <= 0) throw new BadOption(`--reading is NAME=VALUE, not "${pair}"`);
  return [pair.slice(0, mark), pair.slice(mark + 1)];
}

function wholeFrom(flag: string, given: string, min: number, max: number): number {
  const value = Number(given);
  if (!/^\d+$/.test(given) || value < min || value > max) {
    throw new BadOption(`${flag} is a whole number between ${min} and ${max}, not "${given}"`);
  }
  return value;
}
