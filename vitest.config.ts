import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from './test/support/longest-first.ts';

/** Node reads TypeScript itself: without a runner in between modules load sooner, and run an eighth faster. */
const experimental = { viteModuleRunner: false };

/** Lives of the operator on a virtual clock that take a second of computing or more, and what waits for real sockets, processes and a browser. */
const lives = [
  'test/properties/**/*.test.ts',
  'test/disaster/**/*.test.ts',
  'test/cli/{generate,import/import,no-cluster,plan/{every-edit,foreseen,plan},runs}.test.ts',
  'test/deploy/bundle.test.ts',
  'test/engine/{attacks,outage,retrying}.test.ts',
  'test/engine/account/{rotated,small-budget}.test.ts',
  'test/engine/kind/{contested,refused-lists}.test.ts',
  'test/engine/objects/{doubt,lost-create}.test.ts',
  'test/hosting/{recovery-readings,spoiled-answers}.test.ts',
  'test/kinds/*/{*-world,doubt,held,state}.test.ts',
  'test/kube/{client/large-lists,lease-overlap,reflector/reflector-http}.test.ts',
  'test/reporter.test.ts',
  'test/repository/contributing.test.ts',
  'test/sandbox/control-plane/{processes,sources}.test.ts',
  'test/simulator/{page/page-in-browser,page/page-request,sockets,store/durability,store/logs}.test.ts',
  'test/support/no-orphans.test.ts',
  'test/telemetry/metrics.test.ts',
];

/** Nothing in them is shared but code: each worker loads that once. One more than there are cores, as some wait. */
const inOneProcess = {
  experimental,
  testTimeout: 120_000,
  hookTimeout: 120_000,
  isolate: false,
  maxWorkers: availableParallelism() + 1,
};

/**
 * Four projects: `unit` and `lives` need nothing but Node, and `npm run check` leaves the lives to `npm test`; `scenarios` runs against a real
 * control plane; `engines`, of the long programme, has other people's engines on it.
 */
export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          ...inOneProcess,
          name: 'unit',
          include: ['test/**/*.test.ts'],
          exclude: ['test/scenarios/**', 'test/trials/engines/**', ...lives],
        },
      },
      { test: { ...inOneProcess, name: 'lives', include: lives } },
      {
        test: {
          name: 'scenarios',
          experimental,
          sequence: { groupOrder: 1 },
          include: ['test/scenarios/**/*.test.ts'],
          globalSetup: ['test/support/no-orphans.ts', 'test/scenarios/support/shared-control-plane.ts'],
          testTimeout: 480_000,
          hookTimeout: 600_000,
          // Most of a scenario is waiting. Each worker has a control plane of its own, which takes memory.
          maxWorkers: Math.min(availableParallelism() + 1, 6),
          isolate: false,
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
