import { defineConfig } from 'vitest/config';

/** Two projects: `unit` needs nothing but Node; `scenarios` runs against a real control plane. */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: ['test/scenarios/**'],
          testTimeout: 120_000,
        },
      },
      {
        test: {
          name: 'scenarios',
          include: ['test/scenarios/**/*.test.ts'],
          globalSetup: ['test/scenarios/support/shared-control-plane.ts'],
          testTimeout: 400_000,
          hookTimeout: 600_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
