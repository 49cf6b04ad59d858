import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A folder for one test; removed when the test ends. */
export async function temporaryDir(): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'apphosting-unit-'));
  onTestFinished(() => rm(dir, { recursive: true, force: true }));
  return dir;
}
