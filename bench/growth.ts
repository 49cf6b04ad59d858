import { writeFile } from 'node:fs/promises';
import { scale } from './scale.ts';
import { plotOf, type Curve } from './support/plot.ts';
import type { Result } from './support/result.ts';
import { setStage, type BenchOptions } from './support/stage.ts';
import { prepare } from './support/workload.ts';

/** The curves of the plot, by the names of the figures in a result. */
const figures = {
  kubernetesRequestsPerResource: 'Kubernetes requests each, until Ready',
  cpuMsPerResource: 'CPU each, ms',
  readyMsPerResource: 'applied until Ready, ms each',
  peakRssMiB: 'peak memory, MiB',
} as const;

/** Plays `scale` at each size, on a stage of its own, and draws what each took into a file. */
export async function growth(options: BenchOptions, counts: readonly number[], file: string): Promise<void> {
  const results: Result[] = [];
  for (const count of counts) {
    const stage = await setStage({ ...options, count });
    try {
      await prepare(stage);
      await stage.startOperator();
      const result = await scale(stage);
      results.push({ ...result, readyMsPerResource: ((result.readySeconds ?? Number.NaN) * 1_000) / count });
      console.log(JSON.stringify(results.at(-1)));
    } finally {
      await stage.close();
    }
  }
  const curves = Object.entries(figures).map(([name, title]): Curve => {
    const points = results.map((result) => ({ count: result.count, value: Number(result[name]) }));
    return { title, points };
  });
  const conditions = String(results.at(-1)?.['conditions']).split(': ').at(-1) ?? '';
  await writeFile(file, plotOf(`scale, ${options.isBundled ? 'the bundle' : 'the sources'}; ${conditions}`, curves));
}
