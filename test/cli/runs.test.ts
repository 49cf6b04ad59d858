import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { pagesWithRuns } from './runs.ts';

const read = (path: string) => readFileSync(join(import.meta.dirname, '..', '..', path), 'utf8');

describe('the runs on the pages of the commands', () => {
  it('are there for every command, and as they come out: npm run runs takes them anew', async () => {
    for (const [path, text] of await pagesWithRuns(read)) expect(read(path), path).toBe(text);
  });
});
