import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { pageName } from '../../src/crd/reference.ts';
import { canHave } from '../../src/crd/remedies.ts';
import { reasons, type Reason } from '../../src/engine/kind/contract/reasons.ts';
import { kinds } from '../../src/kinds/index.ts';
import { filesUnder, root, sources } from './files.ts';
import { emptyNames, loosePins, openEnds, registryHosts, sharedNames } from './rules.ts';

const named = Object.keys(reasons) as readonly Reason[];
// `${kind}Missing`, of what the spec names.
const composed: ReadonlySet<Reason> = new Set(['SecretMissing', 'ConfigMapMissing']);

const code = () => new Map([...filesUnder('src', 'test', 'bench')].filter(([path]) => path.endsWith('.ts')));
const written = () => new Map([...filesUnder('.')].filter(([path]) => !path.startsWith('test/repository/')));

describe('the repository', () => {
  it('has exact versions of everything it installs', () => {
    expect(loosePins(readFileSync(join(root, 'package.json'), 'utf8'))).toEqual([]);
  });

  it('names no registry', () => {
    expect(registryHosts(written())).toEqual([]);
  });

  it('has no open end without an issue', () => {
    const others = [...code()].filter(([path]) => !path.startsWith('test/repository/'));

    expect(openEnds(new Map(others))).toEqual([]);
  });

  it('names files after what they do', () => {
    expect(emptyNames(written())).toEqual([]);
  });

  it('has no two exported types of one name', () => {
    expect(sharedNames(sources())).toEqual([]);
  });

  it('has no text in a definition that Flux would replace', () => {
    const replaced = [...filesUnder('crds')].filter(([, text]) => text.includes('${')).map(([path]) => path);

    expect(replaced).toEqual([]);
  });
});

describe('the reference pages', () => {
  const pages = filesUnder('docs/kinds');

  it('are one for each kind', () => {
    const names = kinds.map(({ kind }) => `docs/kinds/${pageName(kind)}.md`);

    expect([...pages.keys()].toSorted()).toEqual(names.toSorted());
  });

  it.each(kinds.map(({ kind }) => kind))('of %s explains every reason that it can have', (kind) => {
    const text = pages.get(`docs/kinds/${pageName(kind)}.md`) ?? '';
    const listed = named.filter((reason) => text.includes(`| \`${reason}\` |`));

    expect(listed).toEqual(named.filter((reason) => canHave(kind, reason)));
  });

  it.each([...pages])('%s is written, not only generated', (_path, text) => {
    const byHand = text.replaceAll(/<!-- generated:begin (\S+) -->.*?<!-- generated:end \1 -->/gsu, '');
    const sections = byHand
      .split(/^## /mu)
      .filter((section) => /^(?:In the above example|Working with)/u.test(section));

    expect(sections).toHaveLength(2);
    for (const section of sections) expect(section.split('\n').slice(1).join('').trim()).not.toBe('');
  });
});

describe('the reasons', () => {
  it('are each said by something', () => {
    const code = [...sources()].filter(
      ([path]) => !/^(?:simulator\/|crd\/|engine\/kind\/contract\/reasons\.ts$)/u.test(path),
    );
    const said = code.map(([, text]) => text).join('\n');

    expect(named.filter((reason) => !said.includes(`'${reason}'`) && !composed.has(reason))).toEqual([]);
  });

  it('are the rows of docs/troubleshooting.md, each once', () => {
    const text = filesUnder('docs/troubleshooting.md').get('docs/troubleshooting.md') ?? '';
    const rows = [...text.matchAll(/^\| `([A-Z]\w+)` \| [^|]+ \| [^|]+ \|$/gmu)].map(([, reason = '']) => reason);

    // The table of conditions is about types.
    const types = new Set(['Ready', 'Reconciling', 'Stalled']);
    expect(rows.filter((row) => !types.has(row)).toSorted()).toEqual(named.toSorted());
  });
});

describe('the rules of the repository', () => {
  it.each([
    [loosePins('{"dependencies":{"a":"^1.0.0"}}'), 'dependencies.a is ^1.0.0, not one exact version'],
    [loosePins('{"devDependencies":{"a":"latest"}}'), 'devDependencies.a is latest, not one exact version'],
    [
      registryHosts(new Map([['.npmrc', 'registry=http://npm-mirror.local:4873/x']])),
      '.npmrc names http://npm-mirror.local:4873/',
    ],
    [openEnds(new Map([['a.ts', '// TODO later']])), 'a.ts: // TODO later'],
    [emptyNames(new Map([['src/string-utils.ts', '']])), 'src/string-utils.ts'],
    [
      sharedNames(
        new Map([
          ['a.ts', 'export interface Seen {}'],
          ['b.ts', 'export type Seen = 1;'],
        ]),
      ),
      'Seen: a.ts, b.ts',
    ],
  ])('find what they look for: %j', (found, problem) => {
    expect(found).toEqual([problem]);
  });

  it('let pass what is fine', () => {
    const lock = new Map([['package-lock.json', '"resolved": "https://registry.npmjs.org/zod/-/zod-4.6.7.tgz"']]);

    expect(registryHosts(lock)).toEqual([]);
    expect(loosePins('{"dependencies":{"a":"1.0.0-rc.1"}}')).toEqual([]);
    expect(openEnds(new Map([['a.ts', '// TODO(#12) later']]))).toEqual([]);
  });
});
