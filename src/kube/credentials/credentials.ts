/**
 * Keeps the credentials for the API server fresh. They are read again once a minute (their files may have changed), shortly
 * before they expire, and when the API server refuses them. If the credentials cannot be renewed, the old ones stay in use
 * until the API server refuses them.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { RequestOptions } from 'node:https';
import type { User } from '@kubernetes/client-node';
import { type Clock, inTime } from '../../base/time.ts';
import { sameJson, Secret } from '../../base/json.ts';
import {
  type KubeAccess,
  type KubeCredentials,
  CredentialsError,
  type Tls,
  codeOf,
  type KubeConfiguration,
  type CredentialsOptions,
  loadConfiguration,
} from './configuration.ts';
import { ExecPlugin, pluginMs, PluginError, IdentityProvider } from './authenticators.ts';

const keepMs = 60_000;
const aheadMs = 60_000;
const leastBetweenMs = 5_000;

/** Finds the cluster and gets the first credential; throws a `CredentialsError` if either fails. */
export async function findCredentials(options: CredentialsOptions): Promise<KubeCredentials> {
  const { clock } = options;
  const open = async () => withPlugin(await loadConfiguration(options), clock);
  let source = await open();
  let known = await source.show();
  let shownAt = clock.monotonic();
  let renewedAt = Number.NEGATIVE_INFINITY;
  let refreshing: Promise<KubeAccess> | undefined;

  const again = async (isRefused: boolean): Promise<KubeAccess> => {
    shownAt = clock.monotonic();
    try {
      // Load the configuration again if the API server has refused the credential, or if the credential comes from
      // files. Otherwise keep the loaded configuration: its plugin or identity provider remembers the last credential.
      if (isRefused || !source.isAsked) source = await open();
      known = keptWhereSame(known, await source.show());
    } catch (error) {
      if (isRefused) throw error;
    }
    return known;
  };
  const refresh = (isRefused: boolean): Promise<KubeAccess> =>
    (refreshing ??= again(isRefused).finally(() => (refreshing = undefined)));
  const access = (): Promise<KubeAccess> => {
    const age = clock.monotonic() - shownAt;
    const expiresSoon = source.expiresAt() - aheadMs <= clock.wall();
    return age > keepMs || (expiresSoon && age > leastBetweenMs) ? refresh(false) : Promise.resolve(known);
  };
  const { server, proxy, namespace, title } = source;
  return {
    server,
    proxy,
    namespace,
    title,
    access,
    renew: async (refused) => {
      if ((await access()) !== refused) return true;
      if (clock.monotonic() - renewedAt < leastBetweenMs) return false;
      renewedAt = clock.monotonic();
      return (await refresh(true)) !== refused;
    },
  };
}

/** A Kubernetes configuration, with functions that return its credential and the credential's expiry time. */
interface CredentialSource extends KubeConfiguration {
  /** True if the credential comes from a plugin or an identity provider, not from files. */
  readonly isAsked: boolean;
  /**
   * Returns the credential that client-node would send now; it is empty if the user entry names none. Throws a
   * `CredentialsError` if the credential that the user entry names cannot be read or used.
   */
  show(): Promise<KubeAccess>;
  /** Returns the time at which the credential expires; infinity if the credential has no known expiry time. */
  expiresAt(): number;
}

/** Makes client-node handle exec plugins and OIDC through our own classes, which renew a credential before it expires. */
function withPlugin(configuration: KubeConfiguration, clock: Clock): CredentialSource {
  const { config, user } = configuration;
  const plugin = new ExecPlugin(clock);
  const provider = new IdentityProvider();
  config['authenticators'].unshift(plugin, provider);
  const expiresAt = () => plugin.expiryOf(user) ?? provider.expiryOf(user) ?? Number.POSITIVE_INFINITY;
  return {
    ...configuration,
    isAsked: !['tokenFile', undefined].includes(askedOf(user)),
    expiresAt,
    show: async () => {
      if (expiresAt() <= clock.wall() + aheadMs) {
        plugin.forget(user);
        provider.forget();
      }
      return show(configuration, clock);
    },
  };
}

async function show(configuration: KubeConfiguration, clock: Clock): Promise<KubeAccess> {
  const { config, cluster, impersonation, title } = configuration;
  const options: RequestOptions = {};
  try {
    const applied = await inTime(clock, pluginMs + leastBetweenMs, config.applyToHTTPSOptions(options));
    if (applied === undefined) throw new Error('the credential was not available in time');
  } catch (error) {
    // Do not pass the error on, because its message may quote the credential.
    throw new CredentialsError(`${title}: ${problemOf(error, configuration)}`);
  }
  const headers = new Map(Object.entries(options.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]));
  const authorization = headers.get('authorization') ?? basic(options.auth);
  const asUser = headers.get('impersonate-user');
  const key = textOf(options.key);
  const access: KubeAccess = {
    authorization: typeof authorization === 'string' ? new Secret(authorization.trim()) : undefined,
    impersonation: { ...(typeof asUser === 'string' && { 'impersonate-user': asUser }), ...impersonation },
    tls: {
      ca: textOf(options.ca),
      cert: textOf(options.cert),
      key: key === undefined ? undefined : new Secret(key),
      serverName: cluster.tlsServerName,
      insecure: cluster.skipTLSVerify,
    },
  };
  const wrong = emptiness(access, configuration) ?? wrongCertificate(access.tls, configuration, clock.wall());
  if (wrong !== undefined) throw new CredentialsError(`${title}: ${wrong}`);
  return access;
}

/**
 * Returns a message that says which field or file gave no credential, and why. The message can contain names, paths, error
 * codes, how an exec plugin ended and the plugin's install hint, but never a credential.
 */
function problemOf(error: unknown, { cluster, user }: KubeConfiguration): string {
  const of = `users["${user.name}"]`;
  if (error instanceof PluginError) {
    const entry: unknown = user.exec ?? user.authProvider?.config?.exec;
    const { command, installHint } = entry as { command: string; installHint?: unknown };
    const hint = typeof installHint === 'string' ? ` (${installHint.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim()})` : '';
    return `${of}.exec: ${command}: ${error.message}${hint}`;
  }
  if (error instanceof Error && 'path' in error) return `${String(error.path)} cannot be read${codeOf(error)}`;
  const field = askedOf(user);
  if (field !== undefined) return `${of}.${field} gave no credential${codeOf(error)}`;
  return `clusters["${cluster.name}"] or ${of} has a value that is not text${codeOf(error)}`;
}

/**
 * Returns the field of a kubeconfig's user entry that names a plugin, an identity provider or a token file as the source of the
 * credential. Undefined if the entry has no such field.
 */
function askedOf({ exec, authProvider }: User): string | undefined {
  if (exec) return 'exec';
  if (!authProvider) return undefined;
  return authProvider.name === 'tokenFile' ? 'tokenFile' : 'auth-provider';
}

/**
 * Returns why a user entry of the kubeconfig gave no usable credential. There are two reasons: its plugin, identity
 * provider or token file gave no token and no certificate, or the token has a character that an HTTP header cannot
 * contain. Returns undefined if neither is so.
 *
 * Without this check a request would be sent without a credential, and the API server would treat it as one of
 * `system:anonymous`.
 */
function emptiness({ authorization, tls }: KubeAccess, { user }: KubeConfiguration): string | undefined {
  const field = askedOf(user);
  const of = `users["${user.name}"].${field ?? 'token'}`;
  if (authorization !== undefined) {
    const isSendable = /^[\t\x20-\x7e\x80-\xff]*$/u.test(authorization.reveal());
    return isSendable ? undefined : `${of} has a character that an HTTP header cannot contain`;
  }
  if (tls.cert !== undefined || field === undefined) return undefined;
  return user.exec
    ? `${of}: the program ${user.exec.command} printed no token and no certificate`
    : `${of} gave no token`;
}

/**
 * Returns the reason why the user's certificate cannot be used, for example because it has expired or its key is
 * missing. Returns undefined if it can be used, or if the user has no certificate.
 */
function wrongCertificate({ cert, key }: Tls, { user }: KubeConfiguration, nowMs: number): string | undefined {
  if (cert === undefined) return undefined;
  const of = `users["${user.name}"].${user.exec ? 'exec' : 'client-certificate'}`;
  if (key === undefined) return `${of}: the private key of the certificate is missing`;
  try {
    const certificate = new X509Certificate(cert);
    const endsAt = certificate.validToDate;
    if (endsAt.getTime() < nowMs) return `${of}: the certificate expired on ${endsAt.toISOString()}`;
    const fits = certificate.checkPrivateKey(createPrivateKey(key.reveal()));
    return fits ? undefined : `${of}: the key does not belong to the certificate`;
  } catch (error) {
    return `${of}: the certificate or its key cannot be read${codeOf(error)}`;
  }
}

function basic(userAndPassword: string | null | undefined): string | undefined {
  return typeof userAndPassword === 'string' ? `Basic ${Buffer.from(userAndPassword).toString('base64')}` : undefined;
}

function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  return Buffer.isBuffer(value) ? value.toString('utf8') : undefined;
}

/**
 * Returns the earlier credentials if the new ones have the same content. Otherwise returns the new ones, but with the
 * earlier `Tls` object if its content is the same: connections stay open only as long as the `Tls` object is the same.
 */
function keptWhereSame(known: KubeAccess, now: KubeAccess): KubeAccess {
  const tls = sameJson(known.tls, now.tls) ? known.tls : now.tls;
  const access = { ...now, tls };
  return sameJson(known, access) ? known : access;
}
