import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { operatorMemory, operatorNode } from '../../src/sandbox/programs.ts';

describe('the operator of the sandbox', () => {
  it('is started as the image starts it, so that what is measured on it is true of the image', async () => {
    const dockerfile = await readFile(join(import.meta.dirname, '..', '..', 'Dockerfile'), 'utf8');

    const env = /^ENV ((?:.*\\\n)*.*)$/mu.exec(dockerfile)?.[1]?.split(/[\s\\]+/u);
    const entrypoint: unknown = JSON.parse(/^ENTRYPOINT (.*)$/mu.exec(dockerfile)?.[1] ?? '');

    expect(env).toEqual([
      'PATH=/usr/local/bin',
      'HOME=/',
      'NODE_ENV=production',
      ...Object.entries(operatorMemory).map((pair) => pair.join('=')),
    ]);
    expect(entrypoint).toEqual(['node', ...operatorNode, '/app/main.mjs']);
  });
});
