/** The recovery points of a protection as the service lists them now: status has some of them, and is as old as the polls. */
import { readFile } from 'node:fs/promises';
import { isRecord } from '../base/json.ts';
import { Secret } from '../base/secret.ts';
import { wholeEnvironment } from '../config.ts';
import { KubeError, type Hosting, type Log, type Metrics, type Read } from '../engine/ports.ts';
import { openHosting } from '../hosting/open.ts';
import { drPointsOf } from '../hosting/requests.ts';
import { byMoment, pointRows, type PointRow } from '../kinds/disaster-protection/points.ts';
import type { DisasterProtectionFacts, DisasterProtectionSpec } from '../kinds/disaster-protection/schema.ts';
import { realClock, realEntropy } from './run.ts';

/** What the flags of a command say of the service. */
export interface PointsSettings {
  readonly baseUrl: string | undefined;
  readonly tokenFile: string | undefined;
  readonly accountId: string | undefined;
  readonly allowedHosts: readonly string[];
  readonly allowPrivateAddresses: boolean;
  readonly allowInsecureLoopback: boolean;
}

/** Reads objects of the protection's namespace; undefined where there is none of that name. */
export interface ReadObjects {
  account(name: string): Promise<unknown>;
  secret(name: string): Promise<unknown>;
}

/** How one account of the service is reached. */
export interface PointsAccess {
  readonly baseUrl: string;
  readonly token: Secret;
  readonly caBundle: string | undefined;
  readonly accountId: string;
}

/** The protection whose points are listed. */
export interface ListedPoints {
  readonly namespace: string;
  readonly configurationId: string;
  readonly spec: DisasterProtectionSpec;
  readonly facts: DisasterProtectionFacts;
}

/** All points, newest first, or a sentence on why they could not be listed. */
export type LivePoints =
  | { readonly points: readonly PointRow[] }
  /** `asked` is true if the service did not answer, false if it could not be asked. */
  | { readonly why: string; readonly asked: boolean };

const longestMs = 60_000;
const callMs = 30_000;
const silent: Log = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };
const unmeasured: Metrics = { count: () => undefined, gauge: () => undefined, observe: () => undefined };

/** Asks the service for every recovery point of a protection. */
export async function livePoints(
  objects: ReadObjects,
  protection: ListedPoints,
  settings: PointsSettings,
): Promise<LivePoints> {
  const access = await accessOf(objects, protection, settings);
  if (typeof access === 'string') return { why: access, asked: false };
  const environment = wholeEnvironment();
  const hosting = openHosting({
    clock: realClock,
    entropy: realEntropy,
    log: silent,
    metrics: unmeasured,
    callMs,
    hostRules: {
      allowedHosts: settings.allowedHosts,
      allowInsecureLoopback: settings.allowInsecureLoopback,
      allowPrivateAddresses: settings.allowPrivateAddresses,
      proxy: environment['HTTPS_PROXY'] ?? environment['https_proxy'],
      noProxy: environment['NO_PROXY'] ?? environment['no_proxy'],
    },
  });
  return pointsFrom(hosting, access, protection);
}

/** The same through a hosting layer that is open. */
export async function pointsFrom(
  hosting: Hosting,
  access: PointsAccess,
  protection: ListedPoints,
): Promise<LivePoints> {
  const { configurationId, facts } = protection;
  const items = await readWhole(hosting, access, drPointsOf(access.accountId, configurationId));
  if (typeof items === 'string') return { why: items, asked: true };
  return { points: pointRows(byMoment(items.values()), { generation: facts.configurationGeneration ?? 0 }) };
}

/** One list with all its pages; a sentence where it did not come whole. */
async function readWhole<Item>(
  hosting: Hosting,
  access: PointsAccess,
  read: Read<Item>,
): Promise<ReadonlyMap<string, Item> | string> {
  const ended = Promise.withResolvers<string | undefined>();
  const opened = hosting.open({ ...access, pollSeconds: 3_600, requestsPerSecond: 5, concurrency: 1 }, ({ problem }) =>
    ended.resolve(problem?.message),
  );
  if ('refused' in opened) return opened.refused;
  const cancel = realClock.after(longestMs, () => ended.resolve('the service did not answer within a minute'));
  try {
    opened.want(read, realClock.monotonic(), 'edit');
    const problem = await ended.promise;
    return opened.snapshot(read)?.items ?? problem ?? 'the service did not answer';
  } finally {
    cancel();
    await opened.close();
  }
}

/** The service's address and token: from the flags, else from the protection's account. */
export async function accessOf(
  objects: ReadObjects,
  { namespace, spec }: Pick<ListedPoints, 'namespace' | 'spec'>,
  { baseUrl, tokenFile, accountId }: PointsSettings,
): Promise<PointsAccess | string> {
  const token = tokenFile === undefined ? undefined : await tokenIn(tokenFile);
  if (typeof token === 'string') return token;
  if (token !== undefined && baseUrl !== undefined && accountId !== undefined) {
    return { baseUrl, token, accountId, caBundle: undefined };
  }
  const { kind = 'HostingAccount', name = 'default' } = spec.accountRef ?? {};
  const instead = 'give --base-url, --token-file and --account-id';
  if (kind !== 'HostingAccount') return `the Secret of ${kind} ${name} is not in this namespace; ${instead}`;
  try {
    const account = fieldsOf(await objects.account(name));
    const { externalId: known, credentialsRef } = fieldsOf(account['spec']);
    const secretName = fieldsOf(credentialsRef)['name'];
    if (typeof known !== 'string' || typeof secretName !== 'string') {
      return `there is no HostingAccount ${namespace}/${name}; ${instead}`;
    }
    const secret = fieldsOf(await objects.secret(secretName));
    const valueOf = (key: string) => {
      const value = fieldsOf(secret['data'])[key];
      return typeof value === 'string' ? Buffer.from(value, 'base64').toString() : undefined;
    };
    const [where, saved] = [baseUrl ?? valueOf('baseUrl'), valueOf('token')];
    const used = token ?? (saved === undefined ? undefined : new Secret(saved));
    if (where === undefined || used === undefined) {
      return `Secret ${namespace}/${secretName} does not hold baseUrl and token; ${instead}`;
    }
    // Send a token only to the host in the same Secret, or to the one given with it on the command line.
    if (token === undefined && baseUrl !== undefined && baseUrl !== valueOf('baseUrl')) {
      return `--base-url is another host than Secret ${namespace}/${secretName} names; give --token-file, too`;
    }
    return { baseUrl: where.trim(), token: used, accountId: accountId ?? known, caBundle: valueOf('caBundle') };
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    const why = error.reason === 'forbidden' ? 'you may not read the Secret of its account' : error.message;
    return `${why}; ${instead}`;
  }
}

async function tokenIn(path: string): Promise<Secret | string> {
  try {
    const text = (await readFile(path, 'utf8')).trim();
    return text === '' ? `--token-file ${path} is empty` : new Secret(text);
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT';
    return `--token-file ${path}: ${isMissing ? 'there is no such file' : 'it cannot be read'}`;
  }
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}
