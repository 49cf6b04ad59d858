import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { eventually } from '../support/kubernetes.ts';
import {
  aPlace,
  processesOf,
  runOwnSandbox,
  runSandbox,
  sampleIn,
  startSandbox,
  up,
} from '../support/sandbox-process.ts';

/* A sandbox takes seconds to start: each of these starts as few as it can, and tries on them all that does not need another. */
describe('the sandbox', () => {
  it('of this repository has every sample Ready, ends with 0, and leaves nothing', async () => {
    const { temporary } = await aPlace();

    const { code, output } = await runOwnSandbox(temporary, '--once');

    expect(output).toMatch(/all \d+ samples are Ready/u);
    expect(code).toBe(0);
    expect(await readdir(temporary)).toEqual([]);
    expect(await processesOf(join(temporary, 'apphosting-sandbox-'))).toBe(0);
  });

  it('says what the API server has against a sample', async () => {
    const { temporary, data } = await aPlace();
    const samples = await sampleIn(data, 'wrong', '{email: nobody}');

    const { code, output } = await runSandbox(temporary, '--samples', samples);

    expect(code).toBe(1);
    expect(output).toContain('ContactPoint wrong is refused');
    expect(output).toContain('email must have an @');
    expect(await readdir(temporary)).toEqual([]);
  });

  it('ends, and leaves nothing, when it is stopped while it starts', async () => {
    const { temporary } = await aPlace();
    const sandbox = startSandbox(temporary);
    await eventually('it has begun', async () => (await readdir(temporary)).length > 0);
    await eventually('its etcd runs', async () => (await processesOf(join(temporary, await only(temporary)))) > 0);

    sandbox.kill('SIGTERM');

    expect(await sandbox.ended).toBe(130);
    expect(await readdir(temporary)).toEqual([]);
  });

  it('runs beside another one, asks which is meant, and clears away what killed ones left', async () => {
    const { temporary, data } = await aPlace();
    const [kept, passing] = [startSandbox(temporary, '--data', data), startSandbox(temporary)];
    const other = startSandbox(temporary, '--samples', 'none');
    await Promise.all([up(kept), up(passing), up(other)]);

    const unclear = await runSandbox(temporary, '--kubectl', 'get', 'namespaces');
    expect(unclear.output).toContain('several sandboxes are running');
    other.kill('SIGTERM');
    await other.ended;
    const clear = await runSandbox(temporary, '--kubectl', 'get', 'contactpoints', '-A', '-o', 'name');
    expect(clear.output).toContain('contactpoint.apphosting.dev/on-call');
    const abandoned = join(temporary, await only(temporary));

    for (const sandbox of [kept, passing]) sandbox.kill('SIGKILL');
    await Promise.all([kept.ended, passing.ended]);
    expect([await processesOf(data), await processesOf(abandoned)]).toEqual([5, 5]);

    // Kept data goes on, a temporary folder goes.
    const { code, output } = await runSandbox(temporary, '--once', '--data', data);
    expect(output).toContain('left in 1 temporary folder');
    expect(output).toContain('ended 5 processes');
    expect(output).toContain('all 2 samples are Ready');
    expect(output).toContain('ContactPoint team/platform: Ready');
    expect(code).toBe(0);
    expect([await processesOf(data), await processesOf(abandoned)]).toEqual([0, 0]);
    expect(await readdir(temporary)).toEqual([]);
  });
});

async function only(dir: string): Promise<string> {
  const [first = ''] = await readdir(dir);
  return first;
}
