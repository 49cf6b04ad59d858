/** The cluster in memory that `apphosting plan` runs on, for tests. */
export * from '../../src/cli/in-memory/cluster.ts';
