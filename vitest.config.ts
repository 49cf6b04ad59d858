import { availableParallelism } from 'node:os';
import process from 'node:process';
import { defineConfig } from 'vitest/config';

/** Node reads TypeScript itself: without a runner in between modules load sooner, and run an eighth faster. */
const experimental = { viteModuleRunner: false };

/** `npm run check` leaves to `npm test` what drives a browser; what it draws less of says test/support/draw.ts. */
const isQuick = process.env['DRAW'] === 'quick';

/**
 * Three projects: `unit` needs nothing but Node; `scenarios` runs against a real control plane; `engines`, of the long programme, has other
 * people's engines on it.
 */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          experimental,
          include: ['test/**/*.test.ts'],
          exclude: [
            'test/scenarios/**',
            'test/trials/engines/**',
            ...(isQuick ? ['test/simulator/page-in-browser.test.ts'] : []),
          ],
          testTimeout: 120_000,
          // Nothing in them is shared but code: each worker loads that once. One more than there are cores, as some wait.
          isolate: false,
          maxWorkers: availableParallelism() + 1,
        },
      },
      {
        test: {
          name: 'scenarios',
          experimental,
          sequence: { groupOrder: 1 },
          include: ['test/scenarios/**/*.test.ts'],
          globalSetup: ['test/support/no-orphans.ts', 'test/scenarios/support/shared-control-plane.ts'],
          testTimeout: 400_000,
          hookTimeout: 600_000,
          // Most of a scenario is waiting. Each worker has a control plane of its own.
          maxWorkers: 3,
        },
      },
      {
        test: {
          name: 'engines',
          experimental,
          sequence: { groupOrder: 2 },
          include: ['test/trials/engines/*.test.ts'],
          globalSetup: [
            'test/support/no-orphans.ts',
            'test/trials/engines/programs.ts',
            'test/scenarios/support/shared-control-plane.ts',
          ],
          testTimeout: 600_000,
          hookTimeout: 600_000,
          maxWorkers: 2,
        },
      },
    ],
  },
});
