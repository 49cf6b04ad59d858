/** Defines the flags that name an account of the service, and reads the credential that they give. */
import { readFile } from 'node:fs/promises';
import { hostFlags, text, Trouble, UsageError, whole, type Settings } from '../../config.ts';
import { Secret } from '../../base/json.ts';
import type { GivenCredential } from './reader.ts';

/** Flags for the address of the service, the account and the token. */
export const accountFlags = {
  baseUrl: {
    ...text('the address of the service, such as https://hosting.example.com', 'URL'),
    variable: 'APPHOSTING_BASE_URL',
  },
  tokenFile: { ...text('a file with the token; read access is enough', 'FILE'), variable: 'APPHOSTING_TOKEN_FILE' },
  accountId: { ...text('id of the account in the service', 'ID'), variable: 'APPHOSTING_ACCOUNT_ID' },
  caFile: text('a file of PEM certificates to trust instead of the usual certificates', 'FILE'),
  ...hostFlags,
  requestsPerSecond: whole('the maximum number of requests to the service per second', 'N', '5', [1, 1_000]),
};

/** The parsed values of the account flags. */
export type AccountSettings = Settings<typeof accountFlags>;

/** The flags that together name an account, as messages list them. */
export const byFlags = '--base-url, --token-file and --account-id';

/** True if the flags give a base URL or a token file: the account then comes from flags, and no cluster is needed. */
export function isNamedByFlags({ baseUrl, tokenFile }: AccountSettings): boolean {
  return baseUrl !== undefined || tokenFile !== undefined;
}

/** Reads the credential that the flags give. */
export async function credentialByFlags(settings: AccountSettings): Promise<GivenCredential> {
  const { baseUrl, tokenFile, accountId, caFile } = settings;
  if (!isNamedByFlags(settings)) throw new UsageError(`name the account with ${byFlags}`);
  if (baseUrl === undefined || tokenFile === undefined || accountId === undefined) {
    const given = { '--base-url': baseUrl, '--token-file': tokenFile, '--account-id': accountId };
    const missing = Object.entries(given).flatMap(([name, value]) => (value === undefined ? [name] : []));
    const verb = missing.length === 1 ? 'is' : 'are';
    throw new UsageError(`to read an account, ${missing.join(' and ')} ${verb} needed too`);
  }
  const token = await textIn(tokenFile, '--token-file');
  if (token.trim() === '') throw new Trouble(`--token-file ${tokenFile}: the file is empty`);
  const caBundle = caFile === undefined ? undefined : await textIn(caFile, '--ca-file');
  const source = '--base-url';
  return { accountId, baseUrl, source, token: new Secret(token.trim()), ...(caBundle !== undefined && { caBundle }) };
}

/** Reads the text of a file that a flag names. */
export async function textIn(path: string, flag: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'there is no such file' : message;
    throw new Trouble(`${flag} ${path}: ${why}`, { cause: error });
  }
}
