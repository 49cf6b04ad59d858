/** The flags with which commands open an account of the service. */
import { readFile } from 'node:fs/promises';
import { hostFlags, hostRulesOf, text, wholeNumber, type Settings } from '../../config.ts';
import { Secret } from '../../base/json.ts';
import type { Trouble } from '../frame.ts';
import { openAccount, type AccountAccess, type AccountReader, type Reports } from './reader.ts';
import { openSnapshot } from './snapshot.ts';

/** The flags of an account of the service. */
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
  requestsPerSecond: {
    help: 'how hard the service may be asked',
    value: 'N',
    fallback: '5',
    schema: wholeNumber(1, 1_000),
  },
};

/** How the flags name an account, and how it may be asked. */
export type AccountSettings = Settings<typeof accountFlags>;

/** How an account is opened: where the service is, and with which token. */
export interface GivenCredential extends AccountAccess {
  /** Where the base URL stands, for the reader of a message: a flag, or a Secret. */
  readonly source: string;
  /** The resource of the cluster that it is of. */
  readonly of?: { readonly kind: string; readonly name: string };
}

/** How a person names the account by flags. */
export const byFlags = '--base-url, --token-file and --account-id';

/** True where the flags name an account of the service by themselves. */
export function isNamedByFlags({ baseUrl, tokenFile }: AccountSettings): boolean {
  return baseUrl !== undefined || tokenFile !== undefined;
}

/** The credential that the flags give. */
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

/** Opens an account with what a credential came to. */
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

/** Works with an account: what `credential` came to is opened, and closed in the end. */
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

/** The account in a snapshot file. */
export async function openSnapshotFile(path: string, accountId: string | undefined): Promise<AccountReader | Trouble> {
  const found = await textIn(path, '--snapshot');
  if (typeof found !== 'string') return found;
  const reader = openSnapshot(found, accountId);
  return 'refused' in reader ? { trouble: `--snapshot ${path}: ${reader.refused}` } : reader;
}

/** The text of a file; what is wrong with it otherwise. */
async function textIn(path: string, flag: string): Promise<string | Trouble> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return { trouble: `${flag} ${path}: ${code === 'ENOENT' ? 'there is no such file' : message}` };
  }
}
