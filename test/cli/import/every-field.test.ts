import { describe, expect, it } from 'vitest';
import { isRecord } from '../../../src/base/json.ts';
import type { AccountReader } from '../../../src/cli/account/reader.ts';
import { draftsOf } from '../../../src/cli/import/manifests.ts';
import { readAccount } from '../../../src/cli/import/read-account.ts';
import { Bench, type Row } from '../../kinds/support/edits/bench.ts';
import { allEdits } from '../../kinds/support/edits/index.ts';
import { ways } from '../../../src/kinds/contact-point/schema.ts';
import type { InProcess } from '../../support/in-process.ts';

/** Fields that no answer of the service shows, so that import cannot write them. */
const notShown: Readonly<Record<string, readonly string[]>> = {
  HostedApp: [
    'source.dockerfile',
    'source.buildArgs',
    'source.pullSecretId',
    'image.reference',
    'image.pullSecretId',
    'healthCheck.path',
    'healthCheck.port',
    'healthCheck.headers',
    'jobConfig.command',
    'jobConfig.shell',
    'jobConfig.timeoutSeconds',
    'jobConfig.ttlSecondsAfterFinished',
    'jobConfig.backoffLimit',
    'jobConfig.concurrency.settingName',
    'jobConfig.concurrency.value',
  ],
  ContactPoint: [],
  MetricAlert: [],
  DisasterProtection: [],
};

function readerOf(world: InProcess, token?: string): Pick<AccountReader, 'accountId' | 'read'> {
  return {
    accountId: 'acc_demo',
    read: async ({ method, path, query = {} }) => {
      const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
      const { status, body } = await world.request(
        method,
        `${path}?${String(new URLSearchParams(given))}`,
        undefined,
        token,
      );
      return { is: 'answered', status, body };
    },
  };
}

function valueAt(spec: unknown, field: string): unknown {
  return field.split('.').reduce((value, name) => (isRecord(value) ? value[name] : undefined), spec);
}

/** Whether a field is the one at a path, or is inside of it. */
function isAt(field: string, path: string): boolean {
  return field === path || field.startsWith(`${path}.`);
}

/** Whether a path is inside of the settings of a contact point. */
function isSetting(path: string): boolean {
  return ways.some((way) => isAt(path, way));
}

/** What import writes of the field of each row, and whether a later import updates it. */
async function writtenOf(bench: Bench, rows: readonly Pick<Row, 'name' | 'field'>[], token?: string) {
  const content = await readAccount(readerOf(bench.world, token), { kinds: [], members: [] });
  const { drafts } = draftsOf(content, new Map());
  return rows.map(({ name, field }) => {
    const draft = drafts.find(({ id }) => id === bench.status(name)['externalId']);
    // The origin of a value, such as a key of a Secret, is the user's own choice; a list is written whole.
    const [path = ''] = field.split(/\[\]|(?<!concurrency)\.value/u);
    const updated = [...(draft?.own ?? []), ...(draft?.ifAbsent ?? [])];
    return { path, is: valueAt(draft?.spec, path) !== undefined, again: updated.some((own) => isAt(path, own)) };
  });
}

describe.each(allEdits.filter(({ kind }) => kind in notShown))('import of a $kind', (edits) => {
  it(
    'writes every field that the service shows, and updates it when it is repeated',
    { timeout: 120_000 },
    async () => {
      const rows = edits.rows.flatMap((row, index) =>
        row.changed?.comes.is === 'sent' ? [{ ...row, name: `row-${index}`, before: row.changed.to }] : [],
      );
      const bench = await Bench.open(edits, rows);

      const written = await writtenOf(bench, rows);
      // With this token the service shows no settings of a contact point, and all else.
      const withoutSecrets = await writtenOf(bench, rows, 'demo-admin-no-secrets');

      const missing = written.filter(({ is }) => !is).map(({ path }) => path);
      expect([...new Set(missing)], 'not in the draft: src/cli/import/manifests.ts').toEqual(notShown[edits.kind]);
      const stale = written.filter(({ is, again }) => is && !again).map(({ path }) => path);
      expect([...new Set(stale)], 'not in `own` of the draft: src/cli/import/manifests.ts').toEqual([]);
      const staleBeside = withoutSecrets.filter(({ is, again, path }) => is && !again && !isSetting(path));
      const paths = [...new Set(staleBeside.map(({ path }) => path))];
      expect(paths, 'not in `own` of the draft without settings: src/cli/import/manifests.ts').toEqual([]);
    },
  );
});
