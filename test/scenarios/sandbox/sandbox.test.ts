import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { eventually } from '../support/kubernetes.ts';
import { aPlace, only, processesOf, runOwnSandbox, startSandbox } from '../support/sandbox-process.ts';

describe('the sandbox', () => {
  it('of this repository has every sample Ready, ends with 0, and leaves nothing', async () => {
    const { temporary } = await aPlace();

    const { code, output } = await runOwnSandbox(temporary, '--once');

    expect(output).toMatch(/all \d+ samples are Ready/u);
    expect(code).toBe(0);
    expect(await readdir(temporary)).toEqual([]);
    expect(await processesOf(join(temporary, 'apphosting-sandbox-'))).toBe(0);
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
});
