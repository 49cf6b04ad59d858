import { describe, expect, it } from 'vitest';
import { kinds } from '../../src/kinds/index.ts';
import { sources } from '../repository/files.ts';

describe('the list of kinds', () => {
  it('leaves out no kind that is written down', () => {
    const defined = [...sources()].filter(
      ([path, text]) => path.startsWith('kinds/') && /= define(?:Kind|Request)[<(]/u.test(text),
    );

    expect(kinds).toHaveLength(defined.length);
  });

  it('names each once', () => {
    const names = kinds.flatMap(({ kind, plural, shortNames }) => [kind, plural, ...shortNames]);

    expect(new Set(names).size).toBe(names.length);
  });
});
