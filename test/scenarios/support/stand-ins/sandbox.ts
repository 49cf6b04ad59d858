import { join } from 'node:path';
import process from 'node:process';
import { sandbox } from '../../../../src/sandbox/sandbox.ts';

/* The sandbox command with stand-ins for the simulator, the operator, the definitions and the samples. */

const here = import.meta.dirname;
process.exit(
  await sandbox(process.argv.slice(2), {
    crds: join(here, 'crds'),
    samples: join(here, 'samples'),
    commands: { simulator: [join(here, 'simulator.ts')], operator: [join(here, 'operator.ts')] },
  }),
);
