/** Finds an account's credential as the operator does: in the Secret that a HostingAccount or ClusterHostingAccount names. */
import { z } from 'zod';
import { isRecord, Secret } from '../../base/json.ts';
import { operatorNamespace, text, type Settings } from '../../config.ts';
import { KubeError, type KubeApi, type KubeObject } from '../../engine/ports.ts';
import { secretResource } from '../../kube/material.ts';
import { kindNamed } from '../cluster/objects.ts';
import { clusterFlags, inClusterIfNamed, type OpenCluster } from '../cluster/open.ts';
import type { Trouble } from '../frame.ts';
import { resourceOf } from '../../engine/kind/contract/define.ts';
import {
  byFlags,
  credentialByFlags,
  isNamedByFlags,
  withAccount,
  type AccountSettings,
  type GivenCredential,
} from './flags.ts';
import type { AccountReader, Reports } from './reader.ts';

/** The flag for the operator's namespace, which holds the Secrets of ClusterHostingAccounts. */
export const operatorNamespaceFlag = {
  help: 'where the operator runs',
  value: 'NAME',
  fallback: operatorNamespace,
  schema: z.string().min(1, 'must be a namespace'),
};

const { namespace: _ofItsOwn, ...anyCluster } = clusterFlags;

/** Flags that choose the account resource in a cluster whose credential is used. */
export const clusterAccountFlags = {
  ...anyCluster,
  account: text('use the credential of this HostingAccount, or of this ClusterHostingAccount/NAME', 'NAME'),
  operatorNamespace: operatorNamespaceFlag,
};

/** An account resource in a cluster, and the namespaces where it and its Secret are looked for. */
export interface AccountPlace {
  readonly kind: string;
  readonly name: string;
  readonly namespace: string;
  readonly operatorNamespace: string;
}

/** Reads the credential of an account resource in the cluster. */
export async function credentialOfAccount(
  api: Pick<KubeApi, 'get'>,
  { kind: word, namespace, name, operatorNamespace }: AccountPlace,
): Promise<GivenCredential | Trouble> {
  const kind = kindNamed(word);
  if (kind?.life !== 'account') return { trouble: `${word} is no kind of account`, isUsage: true };
  const at = kind.scope === 'Cluster' ? undefined : namespace;
  const title = at === undefined ? `${kind.kind} ${name}` : `${kind.kind} ${at}/${name}`;
  const read = await reading(title, () => api.get(resourceOf(kind), at, name));
  if ('trouble' in read) return read;
  const credential = await credentialInSpec(api, at ?? operatorNamespace, read.object.spec);
  return 'trouble' in credential ? credential : { ...credential, of: { kind: kind.kind, name } };
}

/** Reads the credential that the spec of an account names. The account may exist only in a file; its Secret is in `namespace`. */
export async function credentialInSpec(
  api: Pick<KubeApi, 'get'>,
  namespace: string,
  spec: unknown,
): Promise<GivenCredential | Trouble> {
  const accountId = isRecord(spec) ? spec['externalId'] : undefined;
  const name = secretNameIn(spec);
  const title = `Secret ${namespace}/${name}`;
  const read = await reading(title, () => api.get(secretResource, namespace, name));
  if ('trouble' in read) return read;
  const [baseUrl, token, caBundle] = ['baseUrl', 'token', 'caBundle'].map((key) => secretText(read.object, key));
  if (!baseUrl || !token || typeof accountId !== 'string')
    return { trouble: `${title} does not hold baseUrl and token; give ${byFlags}` };
  return { accountId, baseUrl, source: `baseUrl of ${title}`, token: new Secret(token), ...(caBundle && { caBundle }) };
}

/** The name of the credentials Secret in the spec of an account. */
export function secretNameIn(spec: unknown): string {
  const ref = isRecord(spec) ? spec['credentialsRef'] : undefined;
  return isRecord(ref) ? String(ref['name']) : '';
}

/** The decoded and trimmed value of a key of a Secret; empty if the key is absent. */
export function secretText(secret: KubeObject | undefined, key: string): string {
  const data = secret?.['data'];
  const encoded = isRecord(data) ? data[key] : undefined;
  return typeof encoded === 'string' ? Buffer.from(encoded, 'base64').toString().trim() : '';
}

async function reading(
  title: string,
  read: () => Promise<KubeObject | undefined>,
): Promise<{ readonly object: KubeObject } | Trouble> {
  try {
    const object = await read();
    return object === undefined ? { trouble: `there is no ${title}; give ${byFlags}` } : { object };
  } catch (error) {
    if (!(error instanceof KubeError)) throw error;
    const why = error.reason === 'forbidden' ? `you may not read ${title}` : `${title}: ${error.message}`;
    return { trouble: `${why}; give ${byFlags}` };
  }
}

/** The settings of a command that reads one account. */
type AccountCommandSettings = AccountSettings & Settings<typeof clusterAccountFlags>;

/** Finds the credential: from `--account`, else from the service flags, else from the account `default` in the cluster. */
async function credentialFor(
  settings: AccountCommandSettings,
  cluster: OpenCluster | undefined,
): Promise<GivenCredential | Trouble> {
  const { account = 'default', operatorNamespace } = settings;
  const isByFlags = settings.account === undefined && isNamedByFlags(settings);
  if (cluster === undefined || isByFlags) return credentialByFlags(settings);
  const [first = '', second] = account.split('/');
  const named = second === undefined ? { kind: 'HostingAccount', name: first } : { kind: first, name: second };
  return credentialOfAccount(cluster.api, { ...named, namespace: cluster.namespace, operatorNamespace });
}

/**
 * Opens the account that the flags name, and the cluster if they name one; runs `work` with both and closes them. `of` is the
 * account resource in the cluster whose credential is used.
 */
export function inAccount<T>(
  settings: AccountCommandSettings,
  given: OpenCluster | undefined,
  work: (reader: AccountReader, cluster: OpenCluster | undefined, of: GivenCredential['of']) => Promise<T>,
  reports?: Reports,
): Promise<T | Trouble> {
  return inClusterIfNamed(settings, given, async (cluster) => {
    const credential = await credentialFor(settings, cluster);
    const of = 'of' in credential ? credential.of : undefined;
    return withAccount(credential, settings, (reader) => work(reader, cluster, of), reports);
  });
}
