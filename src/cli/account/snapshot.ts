/**
 * Writes and reads snapshots. A snapshot is a file with the service's responses about one account, without secrets. A plan can read
 * it where no credential is allowed.
 */
import { z } from 'zod';
import { jsonIn } from '../../base/json.ts';
import { Trouble } from '../../config.ts';
import { textIn } from './flags.ts';
import { addressOf, readingOnce, type AccountReader } from './reader.ts';

const format = 'apphosting-snapshot';
const formatVersion = 1;

const Snapshot = z.strictObject({
  format: z.literal(format, 'the file is not a snapshot of an account'),
  version: z.literal(formatVersion, {
    error: ({ input }) => `the snapshot has version ${String(input)}, not ${formatVersion}: take a new snapshot`,
  }),
  accountId: z.string().min(1),
  endpoint: z.string().min(1),
  takenAt: z.iso.datetime(),
  answers: z.array(
    z.strictObject({
      address: z.string().startsWith('/'),
      status: z.union([z.literal(200), z.literal(404)]),
      body: z.json(),
    }),
  ),
});

/**
 * Returns the text of a snapshot file with all responses that the service gave to the reader. Leaves out responses that
 * may hold a secret.
 */
export function snapshotOf(reader: AccountReader): string {
  const answers = reader.readings().flatMap(([address, reading]) => {
    if (reading.is !== 'answered' || address.includes('showSecrets=')) return [];
    return [{ address, status: reading.status, body: reading.body }];
  });
  const sorted = answers.toSorted((a, b) => (a.address < b.address ? -1 : 1));
  const { accountId, endpoint } = reader;
  const takenAt = new Date(reader.asOfMs).toISOString();
  const snapshot = { format, version: formatVersion, accountId, endpoint, takenAt, answers: sorted };
  return `${JSON.stringify(snapshot, null, 1)}\n`;
}

/** Opens a snapshot file. Returns a reader, which answers each read of the account from the file. */
export async function openSnapshot(path: string, accountId: string | undefined): Promise<AccountReader> {
  const refused = (why: string) => new Trouble(`--snapshot ${path}: ${why}`);
  const value = jsonIn(await textIn(path, '--snapshot'));
  if (value === undefined) throw refused('the file is not JSON');
  const { data, error } = Snapshot.safeParse(value);
  if (error !== undefined) throw refused(`${error.issues[0]?.path.join('.')}: ${error.issues[0]?.message}`);
  const { accountId: of, endpoint, takenAt, answers: listed } = data;
  if (accountId !== undefined && of !== accountId)
    throw refused(`the snapshot belongs to account ${of}, not to ${accountId}`);
  const answers = new Map(listed.map(({ address, ...answer }) => [address, answer]));
  const asOfMs = Date.parse(takenAt);
  const source = { accountId: of, endpoint, asOfMs, [Symbol.asyncDispose]: () => Promise.resolve() };
  return readingOnce(source, async (request) => {
    const address = addressOf(request);
    const answer = answers.get(address);
    if (answer !== undefined) return { is: 'answered', ...answer };
    const message = `${request.endpoint}: the snapshot does not contain the answer to ${address}`;
    return { is: 'failed', why: 'notInSnapshot', message };
  });
}
