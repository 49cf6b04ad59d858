import { describe, expect, it } from 'vitest';
import { kinds } from '../../src/kinds/index.ts';
import { identities } from '../../src/kinds/schema/index.ts';
import { sources } from '../repository/files.ts';

describe('the list of kinds', () => {
  it.each(kinds)('has for $kind the identity that its manifest is made from', (kind) => {
    expect(kind).toMatchObject(identities.find((identity) => identity.kind === kind.kind) ?? {});
    expect(identities.map((identity) => identity.kind)).toContain(kind.kind);
  });

  it('leaves out no identity that is written down', () => {
    const written = [...sources()].filter(
      ([path, text]) => path.startsWith('kinds/') && text.includes('satisfies KindIdentity'),
    );

    expect(identities).toHaveLength(written.length);
  });
});
