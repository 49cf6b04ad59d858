import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { flawsOf, pathInWords } from '../../src/cli/definitions.ts';
import { flawsOf as flawsInDefinition } from '../support/definitions/check.ts';
import { verdicts } from '../scenarios/invalid/index.ts';

const root = join(import.meta.dirname, '..', '..');

function object(kind: string, spec: unknown) {
  return { apiVersion: 'apphosting.dev/v1alpha1', kind, metadata: { name: 'a-name' }, spec };
}

const mail = { email: { addresses: ['a@example.com'] } };

function samples(): readonly Readonly<Record<string, unknown>>[] {
  return ['deploy/samples', 'deploy/samples-more'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.yaml'))
      .flatMap((file) => parseAllDocuments(readFileSync(join(root, folder, file), 'utf8')).map((one) => one.toJS()))
      .filter((one) => one?.apiVersion === 'apphosting.dev/v1alpha1'),
  );
}

describe('checking an object', () => {
  it('finds nothing wrong with any sample', () => {
    const found = samples().flatMap((one) =>
      flawsOf(String(one['kind']), one).map(
        ({ path, message }) => `${String(one['kind'])} ${pathInWords(path)}: ${message}`,
      ),
    );

    expect(found).toEqual([]);
    expect(samples().length).toBeGreaterThan(13);
  });

  it.each([
    [{ sepc: {} }, 'sepc: unknown field; did you mean spec?'],
    [{ metadata: { name: 'A' } }, 'metadata.name: "A" is not a valid name: use lower case letters'],
    [
      { metadata: { name: 'a'.repeat(60) } },
      'metadata.name: the service takes at most 50 characters as a name: set spec.name',
    ],
    [{ spec: { ...mail, name: 7 } }, 'spec.name: the value is 7, but must be of type string'],
    [{ spec: { email: { adresses: [] } } }, 'spec.email.adresses: unknown field; did you mean addresses?'],
    [{ spec: { email: {} } }, 'spec.email.addresses: is required'],
    [{ spec: { email: { addresses: [] } } }, 'spec.email.addresses: the list has 0 items, but must have at least 1'],
    [
      { spec: { ...mail, lifecycle: { onDelete: 'x' } } },
      'spec.lifecycle.onDelete: the value is the text "x", but must be one of',
    ],
  ])('says what is wrong with %j', (wrong, message) => {
    const flaws = flawsOf('ContactPoint', { ...object('ContactPoint', mail), ...wrong });

    expect(flaws.map((flaw) => `${pathInWords(flaw.path)}: ${flaw.message}`).join('\n')).toContain(message);
  });

  it('takes a null for nothing where nothing is required, as the API server does', () => {
    expect(flawsOf('ContactPoint', object('ContactPoint', { ...mail, name: null, lifecycle: null }))).toEqual([]);
  });

  describe.each(verdicts)('of kind $kind', ({ kind, accepted, refused }) => {
    it.each(accepted)('accepts: $because', ({ spec }) => {
      expect(flawsOf(kind, object(kind, spec))).toEqual([]);
      expect(flawsInDefinition(kind, object(kind, spec))).toEqual([]);
    });

    it.each(refused)('refuses as the API server does: $because', ({ spec }) => {
      expect(flawsOf(kind, object(kind, spec))).not.toEqual([]);
      expect(flawsInDefinition(kind, object(kind, spec))).not.toEqual([]);
    });
  });
});
