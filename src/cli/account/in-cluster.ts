/** Finds an account's credential as the operator does: in the Secret that a HostingAccount or ClusterHostingAccount names. */
import { isRecord, Secret } from '../../base/json.ts';
import { kubeconfigFlag, operatorNamespace, someText, text, Trouble, UsageError, type Settings } from '../../config.ts';
import { KubeError, type KubeApi, type KubeObject } from '../../engine/ports.ts';
import { secretResource } from '../../kube/material.ts';
import { kindNamed } from '../cluster/objects.ts';
import { clusterFlags, type OpenCluster } from '../cluster/open.ts';
import { resourceOf } from '../../engine/kind/contract/define.ts';
import { byFlags, credentialByFlags, isNamedByFlags, type AccountSettings } from './flags.ts';
import type { GivenCredential } from './reader.ts';

/** The flag that names the operator's namespace, which holds the Secrets of ClusterHostingAccounts. */
export const operatorNamespaceFlag = {
  help: 'the namespace in which the operator runs',
  value: 'NAME',
  fallback: operatorNamespace,
  schema: someText,
};

const { namespace: _ofItsOwn, ...anyCluster } = clusterFlags;

/** Flags that choose the account resource whose credential is used. */
export const clusterAccountFlags = {
  ...anyCluster,
  kubeconfig: kubeconfigFlag('read the cluster of this kubeconfig too; with only --context or --account:'),
  account: text('use the credential of the HostingAccount NAME, or of ClusterHostingAccount/NAME', 'NAME'),
  operatorNamespace: operatorNamespaceFlag,
};

type AccountPlace = Readonly<Record<'kind' | 'namespace' | 'name' | 'operatorNamespace', string>>;

/** Reads the credential of an account resource in the cluster. */
export async function credentialOfAccount(
  api: Pick<KubeApi, 'get'>,
  { kind: word, namespace, name, operatorNamespace }: AccountPlace,
): Promise<GivenCredential> {
  const kind = kindNamed(word);
  if (kind?.life !== 'account') throw new UsageError(`${word} is neither HostingAccount nor ClusterHostingAccount`);
  const at = kind.scope === 'Cluster' ? undefined : namespace;
  const title = at === undefined ? `${kind.kind} ${name}` : `${kind.kind} ${at}/${name}`;
  const { spec } = await found(title, () => api.get(resourceOf(kind), at, name));
  return { ...(await credentialInSpec(api, at ?? operatorNamespace, spec)), of: { kind: kind.kind, name } };
}

/**
 * Reads the credential from the Secret that the spec of an account names, in the given namespace. The account itself
 * may exist only as a manifest, and not in the cluster.
 */
export async function credentialInSpec(
  api: Pick<KubeApi, 'get'>,
  namespace: string,
  spec: unknown,
): Promise<GivenCredential> {
  const accountId = isRecord(spec) ? spec['externalId'] : undefined;
  const name = secretNameIn(spec);
  const title = `Secret ${namespace}/${name}`;
  const secret = await found(title, () => api.get(secretResource, namespace, name));
  const [baseUrl, token, caBundle] = ['baseUrl', 'token', 'caBundle'].map((key) => secretText(secret, key));
  if (!baseUrl || !token || typeof accountId !== 'string')
    throw new Trouble(`${title} does not contain baseUrl and token; give ${byFlags}`);
  return { accountId, baseUrl, source: `baseUrl of ${title}`, token: new Secret(token), ...(caBundle && { caBundle }) };
}

/** Returns the name of the credentials Secret in the spec of an account. */
export function secretNameIn(spec: unknown): string {
  const ref = isRecord(spec) ? spec['credentialsRef'] : undefined;
  return isRecord(ref) ? String(ref['name']) : '';
}

/** Decodes and trims the value of one key of a Secret; returns an empty text if the key is absent. */
export function secretText(secret: KubeObject | undefined, key: string): string {
  const data = secret?.['data'];
  const encoded = isRecord(data) ? data[key] : undefined;
  return typeof encoded === 'string' ? Buffer.from(encoded, 'base64').toString().trim() : '';
}

/**
 * Reads an object from the cluster. If the object does not exist or the API server refuses the read, the error message
 * names the flags with which the command works without the object.
 */
async function found(title: string, read: () => Promise<KubeObject | undefined>): Promise<KubeObject> {
  const object = await read().catch((error: unknown) => {
    if (!(error instanceof KubeError)) throw error;
    if (error.reason === 'unavailable')
      throw new Trouble(`the API server was not reached, or failed: ${error.message}`, { cause: error });
    const why = error.reason === 'forbidden' ? `you are not allowed to read ${title}` : `${title}: ${error.message}`;
    throw new Trouble(`${why}; give ${byFlags}`, { cause: error });
  });
  if (object === undefined) throw new Trouble(`there is no ${title}; give ${byFlags}`);
  return object;
}

/**
 * Finds the credential of an account: from the account resource that `--account` names, else from the flags for the
 * service, else from the account `default` in the cluster.
 */
export async function credentialFor(
  settings: AccountSettings & Settings<typeof clusterAccountFlags>,
  cluster: OpenCluster | undefined,
): Promise<GivenCredential> {
  const { account = 'default', operatorNamespace } = settings;
  const isByFlags = settings.account === undefined && isNamedByFlags(settings);
  if (cluster === undefined || isByFlags) return credentialByFlags(settings);
  const [first = '', second] = account.split('/');
  const named = second === undefined ? { kind: 'HostingAccount', name: first } : { kind: first, name: second };
  return credentialOfAccount(cluster.api, { ...named, namespace: cluster.namespace, operatorNamespace });
}
