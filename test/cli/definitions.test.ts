import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { flawsOf, pathInWords } from '../../src/cli/definitions/check.ts';
import { verdicts } from '../scenarios/invalid/index.ts';

const root = join(import.meta.dirname, '..', '..');

function object(kind: string, spec: unknown) {
  return { apiVersion: 'apphosting.dev/v1alpha1', kind, metadata: { name: 'a-name' }, spec };
}

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

  describe.each(verdicts)('of kind $kind', ({ kind, accepted, refused }) => {
    it.each(accepted)('accepts: $because', ({ spec }) => {
      expect(flawsOf(kind, object(kind, spec))).toEqual([]);
    });

    it.each(refused)('refuses as the API server does: $because', ({ spec }) => {
      expect(flawsOf(kind, object(kind, spec))).not.toEqual([]);
    });
  });
});
