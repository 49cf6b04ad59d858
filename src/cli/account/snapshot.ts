/** A snapshot: a file with the service's answers about one account, without secrets, for plans where no credential is allowed. */
import { z } from 'zod';
import { addressOf, readingOnce, type AccountReader } from './reader.ts';

const format = 'apphosting-snapshot';
const formatVersion = 1;

const Snapshot = z.strictObject({
  format: z.literal(format),
  version: z.literal(formatVersion),
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

/** Writes everything that was read as the text of a snapshot file. Leaves out answers that may hold a secret. */
export function snapshotOf(reader: AccountReader): string {
  const answers = reader.readings().flatMap(([address, reading]) => {
    if (reading.is !== 'answered' || address.includes('showSecrets=')) return [];
    return [{ address, status: reading.status === 404 ? 404 : 200, body: reading.body }];
  });
  const { accountId, endpoint } = reader;
  const takenAt = new Date(reader.asOfMs).toISOString();
  return `${JSON.stringify({ format, version: formatVersion, accountId, endpoint, takenAt, answers }, null, 1)}\n`;
}

/** Opens a snapshot for reading; returns a sentence if the text is no valid snapshot of the account. */
export function openSnapshot(
  text: string,
  accountId: string | undefined,
): AccountReader | { readonly refused: string } {
  const value = jsonIn(text);
  if (value === undefined) return { refused: 'it is not JSON' };
  const head = z.object({ format: z.string(), version: z.number() }).safeParse(value).data;
  if (head?.format !== format) return { refused: 'it is no snapshot of an account' };
  if (head.version !== formatVersion)
    return {
      refused: `it is a snapshot of version ${head.version}, and this is version ${formatVersion}: take a new one`,
    };
  const parsed = Snapshot.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    return { refused: `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'it is not as it should be'}` };
  }
  const { accountId: of, endpoint, takenAt, answers: listed } = parsed.data;
  if (accountId !== undefined && of !== accountId)
    return { refused: `it is of account ${of}, and not of ${accountId}` };
  const answers = new Map(listed.map(({ address, ...answer }) => [address, answer]));
  const source = { accountId: of, endpoint, asOfMs: Date.parse(takenAt), close: () => Promise.resolve() };
  return readingOnce(source, async (request) => {
    const address = addressOf(request);
    const answer = answers.get(address);
    if (answer !== undefined) return { is: 'answered', ...answer };
    const message = `${request.endpoint}: the snapshot has no answer to ${address}`;
    return { is: 'failed', why: 'notInSnapshot', message };
  });
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
