import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const registry = join(import.meta.dirname, '..', '..', 'src', 'telemetry', 'metrics.ts');

/** How often a process that only keeps metrics was woken in a second. */
async function wakesInASecond(): Promise<number> {
  const program = `
    import { MetricRegistry } from ${JSON.stringify(registry)};
    const registry = new MetricRegistry();
    const woken = () => process.resourceUsage().voluntaryContextSwitches;
    setTimeout(() => {
      const [before, from] = [woken(), performance.now()];
      setTimeout(async () => {
        const wakes = ((woken() - before) * 1000) / (performance.now() - from);
        if (!(await registry.text()).includes('nodejs_eventloop_lag_p99_seconds')) process.exit(1);
        console.log(wakes);
      }, 1000);
    }, 300);`;
  const { stdout } = await promisify(execFile)(execPath, ['--input-type=module', '--eval', program]);
  return Number(stdout);
}

describe('the metrics of the process', () => {
  it('hardly ever wake it', async () => {
    const wakes = await wakesInASecond();

    expect(wakes).toBeLessThan(50);
  }, 20_000);
});
