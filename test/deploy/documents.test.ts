import { existsSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import { helpOf, rangeOf, runCommand, type Flag } from '../../src/config.ts';
import { accesses, clusterWide, ownNamespace } from '../../src/crd/rbac.ts';
import { pageName } from '../../src/crd/reference.ts';
import { structural } from '../../src/crd/structural.ts';
import { annotations } from '../../src/engine/kind/contract/define.ts';
import { doneAnnotation } from '../../src/kinds/solution-installation/solution-installation.ts';
import { askedBy } from '../../src/kinds/app-environment/parts.ts';
import { kinds } from '../../src/kinds/index.ts';
import { metricNames } from '../../src/telemetry/metrics.ts';
import { filesUnder } from '../repository/files.ts';
import { anchorsOf, linksIn, manifestsIn, rowsOf } from '../support/documents.ts';

const root = join(import.meta.dirname, '..', '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const quoted = (cell = '') => [...cell.matchAll(/`([^`]+)`/gu)].map(([, text = '']) => text);

describe('docs/operating.md', () => {
  const text = read('docs/operating.md');
  const flags = rowsOf(text, 'Flag');

  it('has exactly the flags of the operator', () => {
    const known = [...helpOf(runCommand).matchAll(/^ {2}(--[a-z-]+)/gmu)].map(([, flag = '']) => flag);

    expect(flags.flatMap(([names]) => quoted(names)).toSorted()).toEqual(known.toSorted());
  });

  it('has the default of each flag that has one, and the range of each number', () => {
    for (const [name, flag] of Object.entries<Flag<unknown>>(runCommand.flags)) {
      if (flag.fallback === undefined) continue;
      const range = rangeOf(flag);
      const [, cell] = flags.find(([names]) => quoted(names).includes(kebab(name))) ?? [];
      expect([name, cell]).toEqual([name, `\`${flag.fallback}\`${range === undefined ? '' : `, ${range}`}`]);
    }
  });

  it('has exactly the metrics of the operator', () => {
    const listed = rowsOf(text, 'Metric').flatMap(([name]) => quoted(name));

    expect(listed.toSorted()).toEqual(Object.keys(metricNames).toSorted());
  });
});

const kebab = (name: string) => `--${name.replaceAll(/[A-Z]/gu, (big) => `-${big.toLowerCase()}`)}`;

describe('metrics in any document', () => {
  it.each([...filesUnder('docs')].filter(([path]) => path.endsWith('.md')))(
    '%s names only what there is',
    (_, text) => {
      const named = [...text.matchAll(/\bapphosting_[a-z_]+[a-z]/gu)].map(([name]) => name);

      expect(named.filter((name) => !Object.hasOwn(metricNames, name))).toEqual([]);
    },
  );
});

describe('the README', () => {
  it('leads to the page of every kind', () => {
    const links = linksIn(read('README.md'));

    expect(kinds.map(({ kind }) => `docs/kinds/${pageName(kind)}.md`).filter((page) => !links.includes(page))).toEqual(
      [],
    );
  });
});

describe('docs/resources.md', () => {
  it('has every annotation and every field of lifecycle', () => {
    const text = read('docs/resources.md');
    const names = rowsOf(text, 'Annotation').flatMap(([name]) => quoted(name).map((one) => one.replace(/:.*/u, '')));
    const fields = kinds.flatMap(({ spec }) =>
      Object.keys(structural(spec, 'spec').properties?.['lifecycle']?.properties ?? {}),
    );

    expect(names.toSorted()).toEqual(
      [...Object.values(annotations), ...Object.values(askedBy), doneAnnotation].toSorted(),
    );
    expect(
      rowsOf(text, 'Field of `spec.lifecycle`')
        .flatMap(([name]) => quoted(name))
        .toSorted(),
    ).toEqual([...new Set(fields)].toSorted());
  });
});

describe('docs/security.md', () => {
  const rows = rowsOf(read('docs/security.md'), 'Resources');

  it.each(accesses.map((access) => [access.because, access] as const))('says: %s', (because, { resources, verbs }) => {
    const [what, may] = rows.find((row) => row.includes(because)) ?? [];

    expect(may).toBe(verbs.join(', '));
    for (const resource of resources) expect(what).toContain(resource);
  });

  it('grants what the generated roles grant, and nothing else', () => {
    const granted = [...clusterWide(kinds), ...ownNamespace()].flatMap(({ rules }) => rules);
    const kindsOf = (plurals: readonly string[]) =>
      kinds.filter(({ plural }) => plurals.includes(plural)).map(({ kind }) => kind);

    expect(rows).toHaveLength(granted.length);
    expect(rows.map(([, verbs = '']) => verbs).toSorted()).toEqual(
      granted.map(({ verbs }) => verbs.join(', ')).toSorted(),
    );
    const patched = granted.find(({ apiGroups, verbs }) => apiGroups[0] === 'apphosting.dev' && verbs[0] === 'patch');
    const [held = ''] = rows.find(([, verbs]) => verbs === 'patch') ?? [];
    expect(held.split(', ').toSorted()).toEqual(kindsOf(patched?.resources ?? []).toSorted());
  });
});

/** Links of a page that lead nowhere: to a file that is not there, or to a heading that it does not have. */
function deadLinks(path: string, text: string): readonly string[] {
  return linksIn(text).filter((link) => {
    const [file = '', anchor] = link.split('#');
    const target = file === '' ? path : posix.join(posix.dirname(path), file);
    if (!existsSync(join(root, target))) return true;
    return anchor !== undefined && !anchorsOf(target === path ? text : read(target)).includes(anchor);
  });
}

describe('manifests in any document', () => {
  const pages = [...filesUnder('.')].filter(([path]) => path.endsWith('.md'));
  const manifests = pages.flatMap(([path, page]) =>
    manifestsIn(page).map((manifest) => [`${path}: ${manifest.kind} ${manifest.metadata.name}`, manifest] as const),
  );

  it.each(manifests)('%s fits its schema', (_where, { kind, spec }) => {
    const identity = kinds.find((one) => one.kind === kind);

    // Where a page shows how to add a kind, nobody knows it yet.
    expect(identity === undefined ? kind : identity.spec.safeParse(spec).error).toBe(
      identity === undefined ? 'MailingList' : undefined,
    );
  });

  it('are found in blocks of YAML and in what a shell is given', () => {
    const text =
      '```yaml\nkind: A\napiVersion: apphosting.dev/v1\nmetadata: {name: a}\n```\n\n```sh\ncat <<END\napiVersion: apphosting.dev/v1\nkind: B\nmetadata: {name: $NAME}\nEND\n```\n';

    expect(manifestsIn(text)).toMatchObject([{ kind: 'A' }, { kind: 'B', metadata: { name: 'yours' } }]);
    expect(manifests.length).toBeGreaterThan(15);
  });
});

describe('links between documents', () => {
  const pages = [...filesUnder('.')].filter(([path]) => path.endsWith('.md'));

  it.each(pages)('%s leads nowhere that is not there', (path, text) => {
    expect(deadLinks(path, text)).toEqual([]);
  });

  it('would be noticed if they did', () => {
    const text = '# A page\n\n[a](gone.md) [b](#a-page) [c](#nowhere) [d](operating.md#flags) [e](operating.md#flag)';

    expect(deadLinks('docs/gitops.md', text)).toEqual(['gone.md', '#nowhere', 'operating.md#flag']);
  });

  it('reach every page from the README', () => {
    const texts = new Map(pages);
    const seen = new Set<string>();
    const visit = (path: string): void => {
      if (seen.has(path)) return;
      seen.add(path);
      for (const link of linksIn(texts.get(path) ?? '')) {
        const target = posix.join(posix.dirname(path), link.split('#')[0] ?? '');
        for (const [page] of pages) if (page === target || page.startsWith(`${target}/`)) visit(page);
      }
    };
    visit('README.md');

    expect([...texts.keys()].filter((path) => !seen.has(path))).toEqual([]);
  });
});
