/** A snapshot: a file with the service's answers about one account, without secrets, for plans where no credential is allowed. */
import { z } from 'zod';
import { addressOf, type AccountReader, type AccountReading } from './reader.ts';

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

/** The content of a snapshot file. */
type Snapshot = z.output<typeof Snapshot>;

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
  const snapshot = parsed.data;
  if (accountId !== undefined && snapshot.accountId !== accountId)
    return { refused: `it is of account ${snapshot.accountId}, and not of ${accountId}` };
  return readerOf(snapshot);
}

function readerOf(snapshot: Snapshot): AccountReader {
  const answers = new Map(snapshot.answers.map(({ address, ...answer }) => [address, answer]));
  const asked = new Map<string, AccountReading>();
  return {
    accountId: snapshot.accountId,
    endpoint: snapshot.endpoint,
    asOfMs: Date.parse(snapshot.takenAt),
    read: (request) => {
      const address = addressOf(request);
      const answer = answers.get(address);
      const reading: AccountReading =
        answer === undefined
          ? {
              is: 'failed',
              why: 'notInSnapshot',
              message: `${request.endpoint}: the snapshot has no answer to ${address}`,
            }
          : { is: 'answered', ...answer };
      asked.set(address, reading);
      return Promise.resolve(reading);
    },
    readings: () => [...asked].toSorted(([a], [b]) => (a < b ? -1 : 1)),
    close: () => Promise.resolve(),
  };
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
