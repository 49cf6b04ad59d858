import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { kinds } from '../../src/kinds/index.ts';
import { generate, outOfDate } from '../../src/cli/reference/generate.ts';
import { outputs } from '../../src/crd/outputs.ts';

const root = join(import.meta.dirname, '..', '..');

/** What is not as it would be generated. */
const staleFiles = (at: string) => [...outOfDate(at).keys()];

/** A copy of what is generated, to change it. */
function copyOfTree(): string {
  const copy = mkdtempSync(join(tmpdir(), 'generated-'));
  onTestFinished(() => rmSync(copy, { recursive: true }));
  for (const folder of ['crds', 'deploy', 'docs/cli', 'docs/kinds']) {
    cpSync(join(root, folder), join(copy, folder), { recursive: true });
  }
  return copy;
}

describe('generated files', () => {
  it('are fresh, or `npm run generate` writes them', () => {
    expect(staleFiles(root)).toEqual([]);
  });

  it('are named when they are not fresh, and then written', () => {
    const tree = copyOfTree();
    writeFileSync(join(tree, 'crds/contactpoints.yaml'), 'edited by hand');
    writeFileSync(join(tree, 'crds/old.yaml'), 'of a kind that is gone');
    rmSync(join(tree, 'deploy/kustomize/base/rbac.yaml'));

    const stale = ['crds/contactpoints.yaml', 'crds/old.yaml', 'deploy/kustomize/base/rbac.yaml'];
    expect(staleFiles(tree)).toEqual(stale);
    expect(generate(tree)).toEqual(stale);
    expect(staleFiles(tree)).toEqual([]);
  });

  it('keep what people wrote on a page', () => {
    const tree = copyOfTree();
    const path = join(tree, 'docs/kinds/contact-point.md');
    const written = readFileSync(path, 'utf8').replace('## Example', 'Written by hand.\n\n## Example');
    writeFileSync(path, written.replace('| `name` |', '| `edited` |'));

    expect(generate(tree)).toEqual(['docs/kinds/contact-point.md']);
    expect(readFileSync(path, 'utf8')).toBe(written);
  });

  it('need each marker of a page once', () => {
    const tree = copyOfTree();
    const path = join(tree, 'docs/kinds/contact-point.md');
    writeFileSync(path, readFileSync(path, 'utf8').replace('<!-- generated:end spec -->', ''));

    expect(() => staleFiles(tree)).toThrow('docs/kinds/contact-point.md needs exactly one pair of the markers');
  });

  it('begin with a skeleton of the page where there is none', () => {
    const sample = 'kind: Sample\n';
    const made = outputs(kinds, (path) => (path.startsWith('deploy/samples/') ? sample : undefined));

    const headings = made.get('docs/kinds/metric-alert.md')?.match(/^#.*$/gmu);

    expect(headings).toEqual([
      '# MetricAlert',
      '## Example',
      '## In the above example',
      '## Writing a spec',
      '## Working with a MetricAlert',
      '## Status',
    ]);
  });

  it('need a sample of each kind', () => {
    expect(() => outputs(kinds, () => undefined)).toThrow(/has no sample: write deploy\/samples-more\//u);
  });
});
