/** The virtual clock that `apphosting plan` runs on, for tests. */
export * from '../../src/cli/in-memory/virtual-clock.ts';
