import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '..', '..');
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Readonly<
  Record<'dependencies' | 'devDependencies' | 'optionalDependencies', Readonly<Record<string, string>>>
>;
const page = readFileSync(join(root, 'docs', 'dependencies.md'), 'utf8');
const all = Object.entries({
  ...manifest.dependencies,
  ...manifest.devDependencies,
  ...manifest.optionalDependencies,
});

describe('dependencies', () => {
  it.for(all)('%s has an exact version, and a place in the list of what each is for', ([name, version]) => {
    expect(version).toMatch(/^\d+\.\d+\.\d+$/u);
    expect(page).toContain(`\`${name}\``);
  });
});
