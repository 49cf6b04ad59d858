import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCommand } from '../../src/config.ts';
import { accesses } from '../../src/engine/kind/access.ts';
import { metricNames } from '../../src/telemetry/metrics.ts';
import { filesUnder } from '../repository/files.ts';

const root = join(import.meta.dirname, '..', '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');

describe('docs/operating.md', () => {
  const text = read('docs/operating.md');

  it('has every flag of the operator', () => {
    const flags = Object.keys(runCommand.flags).map(
      (name) => `--${name.replaceAll(/[A-Z]/gu, (big) => `-${big.toLowerCase()}`)}`,
    );

    expect(flags.filter((flag) => !text.includes(`\`${flag}\``))).toEqual([]);
  });

  it('has every metric', () => {
    expect(Object.keys(metricNames).filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
  });
});

describe('docs/security.md', () => {
  it.each(accesses.map((access) => [access.because, access] as const))('says: %s', (because, { resources, verbs }) => {
    const row = read('docs/security.md')
      .split('\n')
      .find((line) => line.includes(because));

    expect(row).toContain(`| ${verbs.join(', ')} |`);
    for (const resource of resources) expect(row).toContain(resource);
  });
});

describe('links between documents', () => {
  const pages = [...filesUnder('docs'), ['README.md', read('README.md')] as const].filter(
    ([path]) => path.endsWith('.md') && /^(?:README|docs\/(?:operating|security|gitops|runbooks))/u.test(path),
  );

  it.each(pages)('%s leads nowhere that is not there', (path, text) => {
    const links = [...text.matchAll(/\]\((?!https?:|#)([^)#]+)/gu)].map(([, link = '']) => link);

    expect(links.filter((link) => !existsSync(join(root, dirname(path), link)))).toEqual([]);
  });
});
