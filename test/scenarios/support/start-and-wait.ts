import process from 'node:process';
import { Agent, request } from 'undici';
import { startBreakablePlane } from '../../support/breakable-plane.ts';
import { silent } from '../../../src/sandbox/binaries/progress.ts';
import { findBinaries } from '../../../src/sandbox/binaries/sources.ts';
import { surroundings } from '../../../src/config.ts';

/* Starts a control plane in the folder it is given, puts something in, says so, and waits to be killed. */

const [dir = ''] = process.argv.slice(2);
const plane = await startBreakablePlane({ dir, binaries: await findBinaries(surroundings(), silent), say: () => {} });
const { body } = await request(`${plane.url}/api/v1/namespaces/default/configmaps`, {
  method: 'POST',
  dispatcher: new Agent({ connect: { ca: plane.ca } }),
  headers: { authorization: `Bearer ${plane.adminToken}`, 'content-type': 'application/json' },
  body: JSON.stringify({ metadata: { name: 'from-before' } }),
});
await body.dump();
process.stdout.write('up\n');
setInterval(() => {}, 60_000);
