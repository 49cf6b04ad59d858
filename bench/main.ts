/*
 * The benchmarks: `npm run bench -- NAME [--count N] [--latency MS] [--json]`. Each prints its figures and the conditions
 * under which they were found. `all` plays every benchmark on one stage, one after the other.
 */
import { parseArgs } from 'node:util';
import { drift } from './drift.ts';
import { growth } from './growth.ts';
import { latency } from './latency.ts';
import { peer } from './peer.ts';
import { rest } from './rest.ts';
import { restart } from './restart.ts';
import { scale } from './scale.ts';
import { printTable, type Result } from './support/result.ts';
import { setStage, type BenchOptions, type Stage } from './support/stage.ts';
import { prepare } from './support/workload.ts';

const benchmarks: Readonly<Record<string, (stage: Stage) => Promise<Result>>> = {
  scale,
  rest,
  restart,
  drift,
  latency,
};

const usage = `npm run bench -- NAME [options]

  NAME               ${Object.keys(benchmarks).join(', ')}; or all, on one stage; or peer, which builds another
                     operator with Go and gives both the same work; or growth, which plays scale at several
                     sizes and draws what a resource takes
  --count N          how many resources (1000); of growth: several, such as 100,1000,10000
  --plot FILE        where growth draws (docs/growth.svg)
  --latency MS       how long the service takes to answer (50)
  --refresh SECONDS  spec.refreshSeconds of the alerts; 0 refreshes no states (the default of the kind)
  --poll SECONDS     spec.pollSeconds of the account (60)
  --json             print one object for each benchmark instead of a table
  --bundle           run the operator from the bundle, as it is shipped, and not from the sources
  --log-level LEVEL  of the operator (info)
  --verbose          say how far along it is
  --profile DIR      leave a CPU profile of the operator there
`;

/** Benchmarks that set up their own stage, or use it in their own way. */
const alone: ReadonlySet<string> = new Set(['peer', 'growth']);

interface Asked {
  readonly names: readonly string[];
  readonly json: boolean;
  readonly counts: readonly number[];
  readonly plot: string;
  readonly options: BenchOptions;
}

function asked(): Asked | undefined {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      count: { type: 'string', default: '1000' },
      plot: { type: 'string', default: 'docs/growth.svg' },
      latency: { type: 'string', default: '50' },
      refresh: { type: 'string' },
      poll: { type: 'string', default: '60' },
      json: { type: 'boolean', default: false },
      bundle: { type: 'boolean', default: false },
      'log-level': { type: 'string', default: 'info' },
      profile: { type: 'string' },
      verbose: { type: 'boolean', default: false },
    },
  });
  const names = positionals[0] === 'all' ? Object.keys(benchmarks) : positionals;
  const isKnown = (name: string) => benchmarks[name] !== undefined || (alone.has(name) && names.length === 1);
  if (names.length === 0 || !names.every(isKnown)) return undefined;
  const counts = values.count.split(',').map(Number);
  const options: BenchOptions = {
    count: counts[0] ?? 1_000,
    latencyMs: Number(values.latency),
    refreshSeconds: values.refresh === undefined ? undefined : Number(values.refresh),
    pollSeconds: Number(values.poll),
    isBundled: values.bundle,
    logLevel: values['log-level'],
    profileDir: values.profile,
    say: (text) => console.error(text),
    debug: values.verbose ? (text) => console.error(text) : undefined,
  };
  return { names, json: values.json, counts, plot: values.plot, options };
}

async function play({ names, json, counts, plot, options }: Asked): Promise<void> {
  if (names[0] === 'growth') return growth(options, counts, plot);
  const stage = await setStage(options);
  let leaving: Promise<void> | undefined;
  // Ctrl-C comes twice where npm passes it on as well: the second one must not end what the first one tidies up.
  const abandon = () => void (leaving ??= stage.close().finally(() => process.exit(1)));
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, abandon);
  try {
    await prepare(stage);
    if (names[0] === 'peer') return await peer(stage);
    await stage.startOperator();
    // Every other benchmark needs what this one leaves in place.
    const scaled = await scale(stage);
    for (const name of names) {
      const result = name === 'scale' ? scaled : await benchmarks[name]?.(stage);
      if (result === undefined) continue;
      if (json) console.log(JSON.stringify(result));
      else printTable(result);
    }
  } finally {
    await stage.close();
  }
}

/** Parses the command line; prints why and returns undefined when it cannot be understood. */
function understood(): Asked | undefined {
  try {
    return asked();
  } catch (error) {
    if (!process.argv.includes('--help')) console.error(error instanceof Error ? error.message : error);
    return undefined;
  }
}

const wanted = understood();
if (wanted === undefined) {
  console.error(usage);
  process.exitCode = 2;
} else {
  await play(wanted);
}
