import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { changesOf } from '../../../src/cli/import/folder.ts';
import type { Draft } from '../../../src/cli/import/manifests.ts';

const account = { accountId: 'acc_1', namespace: undefined, ref: { kind: 'HostingAccount', name: 'default' } };
const texts = ['22:00', '1:30:00', 'yes', 'No', 'on', 'off', 'y', 'N', '0o17', '017', '0b1', '1_000', '2001-01-01'];

function draft(spec: Draft['spec'], own: readonly string[] = []): Draft {
  return { kind: 'ContactPoint', name: 'desk', id: 'cp_1', spec, own, secrets: [] };
}

function textOf(one: Draft, before?: string): string {
  const path = 'contact-points/desk.yaml';
  const found = {
    files: new Map(before === undefined ? [] : [[path, before]]),
    names: new Map<string, string>(),
    paths: new Map(before === undefined ? [] : [['ContactPoint/cp_1', path]]),
  };
  return changesOf(found, [one], account).find((change) => change.path === path)?.after ?? '';
}

const specIn = (text: string, version: '1.1' | '1.2') => (parse(text, { version }) as { readonly spec: unknown }).spec;

describe('a file of an import', () => {
  it('has the same values for parsers of YAML 1.1 and 1.2', () => {
    const spec = { name: '22:00', email: { addresses: texts } };

    const text = textOf(draft(spec));

    expect(specIn(text, '1.2')).toEqual(spec);
    expect(specIn(text, '1.1')).toEqual(spec);
  });

  it('gets values that both read alike, and keeps what a person wrote, and how', () => {
    const before =
      'kind: ContactPoint\nmetadata:\n  name: desk # ours\nspec:\n  name: Desk # as people say\n  verifyConfig: yes\n  email:\n    addresses: [a]\n';
    const spec = { name: '22:00', email: { addresses: texts } };

    const text = textOf(draft(spec, ['name', 'email.addresses']), before);

    expect(text).toContain('  name: "22:00" # as people say\n  verifyConfig: yes\n');
    expect(specIn(text, '1.2')).toEqual({ ...spec, verifyConfig: 'yes' });
    expect(specIn(text, '1.1')).toEqual({ ...spec, verifyConfig: true });
  });
});
