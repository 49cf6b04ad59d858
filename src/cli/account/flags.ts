/** Flags that name an account of the service, and functions that open it. */
import { readFile } from 'node:fs/promises';
import { hostFlags, hostRulesOf, text, whole, type Settings } from '../../config.ts';
import { Secret } from '../../base/json.ts';
import type { Trouble } from '../frame.ts';
import { openAccount, type AccountAccess, type AccountReader, type Reports } from './reader.ts';
import { openSnapshot } from './snapshot.ts';

/** Flags that say where the service is, which account is meant and which token to use. */
export const accountFlags = {
  baseUrl: {
    ...text('where the service is, such as https://hosting.example.com', 'URL'),
    variable: 'APPHOSTING_BASE_URL',
  },
  tokenFile: {
    ...text('a file that holds the access token; a token that may only read is enough', 'FILE'),
    variable: 'APPHOSTING_TOKEN_FILE',
  },
  accountId: { ...text('the account in the service', 'ID', 'must be an id'), variable: 'APPHOSTING_ACCOUNT_ID' },
  caFile: text('certificates in PEM form that are trusted in place of the usual ones', 'FILE'),
  ...hostFlags,
  requestsPerSecond: whole('the most requests to the service in one second', 'N', '5', [1, 1_000]),
};

/** The parsed values of the account flags. */
export type AccountSettings = Settings<typeof accountFlags>;

/** What is needed to open an account: the address of the service and a token. */
export interface GivenCredential extends AccountAccess {
  /** Where the base URL was found, for messages: a flag or a Secret. */
  readonly source: string;
  /** The account resource in the cluster that names this credential. */
  readonly of?: { readonly kind: string; readonly name: string };
}

/** The flags that together name an account, for messages. */
export const byFlags = '--base-url, --token-file and --account-id';

/** True if flags name an account of the service directly, without a cluster. */
export function isNamedByFlags({ baseUrl, tokenFile }: AccountSettings): boolean {
  return baseUrl !== undefined || tokenFile !== undefined;
}

/** Reads the credential that the flags give. */
export async function credentialByFlags(settings: AccountSettings): Promise<GivenCredential | Trouble> {
  const { baseUrl, tokenFile, accountId, caFile } = settings;
  if (!isNamedByFlags(settings)) return { trouble: `name the account with ${byFlags}`, isUsage: true };
  if (baseUrl === undefined || tokenFile === undefined || accountId === undefined) {
    const given = { '--base-url': baseUrl, '--token-file': tokenFile, '--account-id': accountId };
    const missing = Object.entries(given).flatMap(([name, value]) => (value === undefined ? [name] : []));
    const verb = missing.length === 1 ? 'is' : 'are';
    return { trouble: `${missing.join(' and ')} ${verb} needed too, to read an account`, isUsage: true };
  }
  const token = await textIn(tokenFile, '--token-file');
  if (typeof token !== 'string') return token;
  if (token.trim() === '') return { trouble: `--token-file ${tokenFile}: it is empty` };
  const caBundle = caFile === undefined ? undefined : await textIn(caFile, '--ca-file');
  if (caBundle !== undefined && typeof caBundle !== 'string') return caBundle;
  const source = '--base-url';
  return { accountId, baseUrl, source, token: new Secret(token.trim()), ...(caBundle !== undefined && { caBundle }) };
}

/** Opens an account; says what is wrong if there is no credential or the base URL is not allowed. */
export function openWith(
  credential: GivenCredential | Trouble,
  settings: AccountSettings,
  reports: Reports = {},
): AccountReader | Trouble {
  if ('trouble' in credential) return credential;
  const { requestsPerSecond } = settings;
  const reader = openAccount(credential, { hostRules: hostRulesOf(settings), requestsPerSecond }, reports);
  return 'refused' in reader
    ? { trouble: `${credential.source} ${credential.baseUrl}: ${reader.refused}`, isUsage: true }
    : reader;
}

/** Opens an account, runs `work` with it and closes it afterwards. */
export async function withAccount<T>(
  credential: GivenCredential | Trouble,
  settings: AccountSettings,
  work: (reader: AccountReader) => Promise<T>,
  reports: Reports = {},
): Promise<T | Trouble> {
  const reader = openWith(credential, settings, reports);
  if ('trouble' in reader) return reader;
  try {
    return await work(reader);
  } finally {
    await reader.close();
  }
}

/** Opens the account in a snapshot file. */
export async function openSnapshotFile(path: string, accountId: string | undefined): Promise<AccountReader | Trouble> {
  const found = await textIn(path, '--snapshot');
  if (typeof found !== 'string') return found;
  const reader = openSnapshot(found, accountId);
  return 'refused' in reader ? { trouble: `--snapshot ${path}: ${reader.refused}` } : reader;
}

/** Reads a file as text; says what is wrong if it cannot be read. */
async function textIn(path: string, flag: string): Promise<string | Trouble> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return { trouble: `${flag} ${path}: ${code === 'ENOENT' ? 'there is no such file' : message}` };
  }
}
