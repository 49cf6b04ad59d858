/** The flags with which commands open an account of the service. */
import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { hostFlags, wholeEnvironment, wholeNumber } from '../../config.ts';
import { Secret } from '../../base/secret.ts';
import { realClock, realEntropy } from '../run.ts';
import { openAccount, type AccountReader } from './reader.ts';
import { openSnapshot } from './snapshot.ts';

/** The flags of an account of the service. */
export const accountFlags = {
  baseUrl: {
    help: 'where the service is, such as https://hosting.example.com',
    value: 'URL',
    variable: 'APPHOSTING_BASE_URL',
    schema: z.string().optional(),
  },
  tokenFile: {
    help: 'a file that holds the access token; a token that may only read is enough',
    value: 'FILE',
    variable: 'APPHOSTING_TOKEN_FILE',
    schema: z.string().optional(),
  },
  accountId: {
    help: 'the account in the service',
    value: 'ID',
    variable: 'APPHOSTING_ACCOUNT_ID',
    schema: z.string().min(1, 'must be an id').optional(),
  },
  caFile: {
    help: 'certificates in PEM form that are trusted in place of the usual ones',
    value: 'FILE',
    schema: z.string().optional(),
  },
  ...hostFlags,
  requestsPerSecond: {
    help: 'how hard the service may be asked',
    value: 'N',
    fallback: '5',
    schema: wholeNumber(1, 1_000),
  },
};

/** The account that the flags name, or why there is none. */
export interface AccountSettings {
  readonly baseUrl: string | undefined;
  readonly tokenFile: string | undefined;
  readonly accountId: string | undefined;
  readonly caFile: string | undefined;
  readonly allowedHosts: readonly string[];
  readonly allowPrivateAddresses: boolean;
  readonly allowInsecureLoopback: boolean;
  readonly requestsPerSecond: number;
}

/** A problem that ends a command: its message and exit code. */
export interface Trouble {
  readonly trouble: string;
  readonly isUsage: boolean;
}

/** Callbacks of a reader, and the signal that ends it. */
export interface Reports {
  readonly onRead?: (count: number) => void;
  readonly signal?: AbortSignal;
}

/** How an account is opened: where the service is, and with which token. */
export interface GivenCredential {
  readonly accountId: string;
  readonly baseUrl: string;
  readonly token: Secret;
  readonly caBundle?: string;
}

/** The account that the flags name, opened; undefined where they name none. */
export async function openNamedAccount(
  settings: AccountSettings,
  reports: Reports = {},
): Promise<AccountReader | Trouble | undefined> {
  const { baseUrl, tokenFile, accountId, caFile } = settings;
  const given = { '--base-url': baseUrl, '--token-file': tokenFile, '--account-id': accountId };
  const missing = Object.entries(given).filter(([, value]) => value === undefined);
  if (baseUrl === undefined && tokenFile === undefined) return undefined;
  if (baseUrl === undefined || tokenFile === undefined || accountId === undefined) {
    const names = missing.map(([name]) => name).join(' and ');
    return { trouble: `${names} ${missing.length === 1 ? 'is' : 'are'} needed too, to read an account`, isUsage: true };
  }
  const token = await textIn(tokenFile, '--token-file');
  if (typeof token !== 'string') return token;
  if (token.trim() === '') return { trouble: `--token-file ${tokenFile}: it is empty`, isUsage: false };
  const caBundle = caFile === undefined ? undefined : await textIn(caFile, '--ca-file');
  if (caBundle !== undefined && typeof caBundle !== 'string') return caBundle;
  const credential = { accountId, baseUrl, token: new Secret(token), ...(caBundle !== undefined && { caBundle }) };
  return openWith(credential, settings, reports);
}

/** Opens an account with a given credential. */
export function openWith(
  credential: GivenCredential,
  settings: Omit<AccountSettings, 'baseUrl' | 'tokenFile' | 'accountId' | 'caFile'>,
  { onRead, signal }: Reports = {},
): AccountReader | Trouble {
  const environment = wholeEnvironment();
  const access = {
    ...credential,
    hostRules: {
      allowedHosts: settings.allowedHosts,
      allowInsecureLoopback: settings.allowInsecureLoopback,
      allowPrivateAddresses: settings.allowPrivateAddresses,
      proxy: environment['HTTPS_PROXY'] ?? environment['https_proxy'],
      noProxy: environment['NO_PROXY'] ?? environment['no_proxy'],
    },
    requestsPerSecond: settings.requestsPerSecond,
    concurrency: 4,
  };
  const around = { clock: realClock, entropy: realEntropy, ...(onRead && { onRead }), ...(signal && { signal }) };
  const reader = openAccount(access, around);
  return 'refused' in reader
    ? { trouble: `--base-url ${credential.baseUrl}: ${reader.refused}`, isUsage: true }
    : reader;
}

/** The account in a snapshot file. */
export async function openSnapshotFile(path: string, accountId: string | undefined): Promise<AccountReader | Trouble> {
  const text = await textIn(path, '--snapshot');
  if (typeof text !== 'string') return text;
  const reader = openSnapshot(text, accountId);
  return 'refused' in reader ? { trouble: `--snapshot ${path}: ${reader.refused}`, isUsage: false } : reader;
}

/** The text of a file; what is wrong with it otherwise. */
async function textIn(path: string, flag: string): Promise<string | Trouble> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'there is no such file' : message;
    return { trouble: `${flag} ${path}: ${why}`, isUsage: false };
  }
}
