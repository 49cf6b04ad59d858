/**
 * Finds the cluster and the user. client-node reads the kubeconfigs. This module adds features of kubectl that
 * client-node lacks: `tokenFile`, `as-uid`, `as-groups`, plugin paths relative to the kubeconfig,
 * `KUBERNETES_EXEC_INFO` for plugins, and the rule that the first of two entries with the same name counts.
 *
 * Error messages contain the file and, where known, the field. Of the content of a file they contain only names and
 * commands, never a credential. CA certificates are not checked here: if a CA certificate is broken, connections fail.
 */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import { type Cluster, KubeConfig, type User } from '@kubernetes/client-node';
import type { Clock } from '../../base/time.ts';
import { isRecord, recordsIn, type Secret } from '../../base/json.ts';
import { isIP } from 'node:net';

const serviceAccountToken = '/var/run/secrets/kubernetes.io/serviceaccount/token';

/** Where to look for a cluster and credentials, and which context and user to use. */
export interface CredentialsOptions {
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The path of a kubeconfig. If the path is given, no other place is searched. */
  readonly kubeconfig?: string;
  /** The context to use instead of the kubeconfig's current context. */
  readonly context?: string;
  /** The user to impersonate, instead of the user in the kubeconfig's field `as`. */
  readonly as?: string;
  readonly asGroups?: readonly string[];
  /** A folder that is put in front of the paths of the pod's service account files. Only tests set it. */
  readonly podRoot?: string;
}

/** A cluster and a user, as the kubeconfig or the pod configures them. */
export interface KubeConfiguration {
  /** A KubeConfig of client-node that contains only the context in use, its cluster and its user. */
  readonly config: KubeConfig;
  readonly cluster: Cluster;
  readonly user: User;
  readonly server: URL;
  readonly proxy: URL | undefined;
  /** The impersonation headers that client-node does not send: uid and groups. */
  readonly impersonation: Readonly<Record<string, string | string[]>>;
  /** The namespace of the kubeconfig's context, or the namespace in which the pod runs. */
  readonly namespace: string | undefined;
  /** The name of the configuration in messages, such as `kubeconfig /home/ann/.kube/config`. */
  readonly title: string;
}

/**
 * Looks for a cluster in this order: the given file, `KUBECONFIG`, the pod's service account, the file in the home
 * folder.
 */
export async function loadConfiguration(options: CredentialsOptions): Promise<KubeConfiguration> {
  const { as: user, asGroups = [] } = options;
  const found = await foundConfiguration(options);
  if (user === undefined) return found;
  const groups = asGroups.length === 0 ? {} : { 'impersonate-group': [...asGroups] };
  return { ...found, impersonation: { 'impersonate-user': user, ...groups } };
}

async function foundConfiguration(options: CredentialsOptions): Promise<KubeConfiguration> {
  const { env, kubeconfig } = options;
  if (kubeconfig !== undefined) return fromFiles([kubeconfig], options);
  const listed = (env['KUBECONFIG'] ?? '').split(delimiter).filter((file) => file !== '');
  if (listed.length > 0) return fromFiles(listed, options);
  const root = options.podRoot ?? '';
  if (env['KUBERNETES_SERVICE_HOST'] !== undefined && existsSync(root + serviceAccountToken)) return fromPod(root);
  const home = env['HOME'] ?? env['USERPROFILE'];
  const usual = home === undefined ? undefined : join(home, '.kube', 'config');
  if (usual !== undefined && existsSync(usual)) return fromFiles([usual], options);
  throw new CredentialsError(
    'no cluster was found: there is no kubeconfig, and this program does not run in a pod with the token of a service account; name a kubeconfig with --kubeconfig',
  );
}

function fromPod(root: string): KubeConfiguration {
  const config = new KubeConfig();
  config.loadFromCluster(root);
  return choose(config, [], 'the service account of the pod', undefined);
}

async function fromFiles(files: readonly string[], { context }: CredentialsOptions): Promise<KubeConfiguration> {
  const loaded = await Promise.all(files.map(loadFile));
  const merged = new KubeConfig();
  // Merge the entries of all kubeconfigs in the order in which the files are given. If several entries have the same name,
  // client-node uses the first.
  merged.loadFromOptions({
    clusters: loaded.flatMap(({ config }) => config.clusters),
    users: loaded.flatMap(({ config }) => config.users),
    contexts: loaded.flatMap(({ config }) => config.contexts),
    currentContext: loaded.map(({ config }) => config.currentContext).find(Boolean),
  });
  const entries = loaded.flatMap(({ users }) => users);
  return choose(merged, entries, `kubeconfig ${files.join(', ')}`, context);
}

/** A user entry of a kubeconfig with all fields, including those that client-node drops. */
interface UserEntry {
  readonly name: unknown;
  readonly user: Readonly<Record<string, unknown>>;
  /** The folder of the kubeconfig, to which relative paths refer. */
  readonly folder: string;
}

/**
 * Loads one kubeconfig. An entry that cannot be used is left out. This is an error only if the entry is the chosen
 * context, or its cluster or user.
 */
async function loadFile(file: string): Promise<{ config: KubeConfig; users: readonly UserEntry[] }> {
  // Import the YAML parser only here, since an operator that uses the service account of its pod never needs the parser.
  const { parse, YAMLParseError } = await import('yaml');
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new CredentialsError(`kubeconfig ${file} cannot be read${codeOf(error)}`);
  });
  const config = new KubeConfig();
  let value: unknown;
  try {
    value = parse(text);
    if (isRecord(value)) config.loadFromString(text, { onInvalidEntry: 'filter' });
  } catch (error) {
    // Do not pass the error on, because its message quotes the kubeconfig.
    const line = error instanceof YAMLParseError ? error.linePos?.[0].line : undefined;
    throw new CredentialsError(
      `kubeconfig ${file} is not one valid YAML document${line === undefined ? '' : ` (line ${line})`}`,
    );
  }
  if (!isRecord(value)) throw new CredentialsError(`kubeconfig ${file} contains no contexts, clusters or users`);
  const folder = dirname(file);
  config.makePathsAbsolute(folder);
  const users = recordsIn(value, 'users').map(({ name, user }) => ({ name, user: isRecord(user) ? user : {}, folder }));
  return { config, users };
}

/** Chooses a context with its cluster and its user, and drops all other entries. */
function choose(
  config: KubeConfig,
  entries: readonly UserEntry[],
  title: string,
  wanted: string | undefined,
): KubeConfiguration {
  const wrong = (what: string) => new CredentialsError(`${title}: ${what}`);
  const name = wanted ?? config.currentContext;
  if (name === undefined || name === '') {
    throw wrong('current-context is not set: give a --context');
  }
  const context = config.getContextObject(name);
  const field = wanted === undefined ? 'current-context' : 'contexts';
  if (context === null) throw wrong(`${field}: there is no context "${name}"`);
  const loaded = config.getCluster(context.cluster);
  if (loaded === null)
    throw wrong(`contexts["${name}"]: there is no cluster "${context.cluster}", or the cluster has no server`);
  if (typeof context.user !== 'string') throw wrong(`contexts["${name}"].user is not set`);
  const bare = config.getUser(context.user);
  if (bare === null) throw wrong(`contexts["${name}"]: there is no user "${context.user}"`);
  const server = URL.parse(loaded.server);
  if (server === null || !['http:', 'https:'].includes(server.protocol))
    throw wrong(`clusters["${loaded.name}"].server is not an http or https URL`);
  const proxy = loaded.proxyUrl === undefined ? undefined : URL.parse(loaded.proxyUrl);
  if (proxy === null || (proxy !== undefined && !['http:', 'https:', 'socks5:'].includes(proxy.protocol)))
    throw wrong(`clusters["${loaded.name}"].proxy-url is not an http, https or socks5 URL`);
  // Set skipTLSVerify for a server without TLS: client-node requires this, and without TLS there is no certificate to verify.
  const cluster = server.protocol === 'http:' ? { ...loaded, skipTLSVerify: true } : loaded;
  const entry = entries.find((one) => one.name === bare.name);
  const user = entry === undefined ? bare : completed(bare, entry, cluster);
  const of = `users["${user.name}"]`;
  if (user.exec && typeof user.exec.command !== 'string') throw wrong(`${of}.exec.command is missing`);
  if (user.exec?.interactiveMode === 'Always')
    throw wrong(`${of}.exec.interactiveMode: the program ${user.exec.command} needs a terminal, and gets none here`);
  if (user.authProvider?.config?.['cmd-path'] !== undefined) {
    // Refuse the program of an auth-provider: client-node would block the whole process until the program ends, and would show
    // what the program writes to standard error.
    throw wrong(`${of}.auth-provider.config.cmd-path: the program of an auth-provider is not run; use exec instead`);
  }
  config.loadFromOptions({ clusters: [cluster], users: [user], contexts: [context], currentContext: name });
  const namespace = context.namespace?.trim();
  return {
    config,
    cluster,
    user,
    server,
    proxy,
    namespace: namespace === '' ? undefined : namespace,
    impersonation: impersonationOf(entry),
    title,
  };
}

/**
 * Completes a user of client-node with what client-node ignores in the kubeconfig's user entry: the field `tokenFile`, and
 * for an exec plugin the folder of a relative command and the variable KUBERNETES_EXEC_INFO.
 */
function completed({ token, ...user }: User, { user: entry, folder }: UserEntry, cluster: Cluster): User {
  const { tokenFile, exec } = entry;
  const absolute = (path: string): string => (isAbsolute(path) ? path : join(folder, path));
  if (typeof tokenFile === 'string' && tokenFile !== '') {
    return { ...user, authProvider: { name: 'tokenFile', config: { tokenFile: absolute(tokenFile) } } };
  }
  const known = token === undefined ? user : { ...user, token };
  if (!isRecord(exec) || typeof exec['command'] !== 'string') return known;
  const { command, env, provideClusterInfo } = exec;
  const info = {
    apiVersion: exec['apiVersion'],
    kind: 'ExecCredential',
    spec: { interactive: false, ...(provideClusterInfo === true && { cluster: forPlugin(cluster) }) },
  };
  return {
    ...known,
    exec: {
      ...exec,
      // A plugin's command that contains a slash is a path; if it is relative, it starts at the folder of the kubeconfig. A
      // command without a slash is looked up in PATH.
      command: command.includes('/') ? absolute(command) : command,
      env: [...(Array.isArray(env) ? env : []), { name: 'KUBERNETES_EXEC_INFO', value: JSON.stringify(info) }],
    },
  };
}

/** Returns the description of the cluster that an exec plugin gets in the variable KUBERNETES_EXEC_INFO. */
function forPlugin({ server, caData, tlsServerName, skipTLSVerify, proxyUrl }: Cluster): object {
  return {
    server,
    'certificate-authority-data': caData,
    'tls-server-name': tlsServerName,
    'insecure-skip-tls-verify': skipTLSVerify,
    'proxy-url': proxyUrl,
  };
}

/** Builds the impersonation headers for `as-uid` and `as-groups`, since client-node sends only the header for `as`. */
function impersonationOf(entry: UserEntry | undefined): KubeConfiguration['impersonation'] {
  const { 'as-uid': uid, 'as-groups': groups } = entry?.user ?? {};
  return {
    ...(typeof uid === 'string' && { 'impersonate-uid': uid }),
    ...(Array.isArray(groups) && { 'impersonate-group': groups.filter((one) => typeof one === 'string') }),
  };
}

/** Returns the error code of the innermost cause that has a code, in brackets; an empty string if no cause has a code. */
export function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  return codeOf(error.cause) || ('code' in error ? ` (${String(error.code)})` : '');
}

/** The TLS settings of connections to the API server. */
export interface Tls {
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: Secret | undefined;
  readonly serverName: string | undefined;
  readonly insecure: boolean;
}

/**
 * The credentials for one request: token, impersonation headers and TLS settings. All requests get the same object until a
 * credential changes.
 */
export interface KubeAccess {
  /** The value of the `Authorization` header. */
  readonly authorization: Secret | undefined;
  /** The headers that make the API server treat a request as that of another user (impersonation). */
  readonly impersonation: Readonly<Record<string, string | string[]>>;
  readonly tls: Tls;
}

/** A cluster, and the operator's credentials for it, which may change at any time. */
export interface KubeCredentials extends Pick<KubeConfiguration, 'server' | 'proxy' | 'title' | 'namespace'> {
  /** Returns the current credentials. The call is cheap, so it can be made before every request. */
  access(): Promise<KubeAccess>;
  /** Looks for a newer credential after a 401, at most every five seconds; returns true if there is one. */
  renew(refused: KubeAccess): Promise<boolean>;
}

/** Thrown when Kubernetes credentials are wrong or missing; the message says what to do. */
export class CredentialsError extends Error {
  override readonly name = 'CredentialsError';
}

/** True if a token may be sent to this server: over TLS, or to this machine itself. */
export function mayCarryToken(server: URL): boolean {
  if (server.protocol === 'https:') return true;
  const host = server.hostname.replace(/^\[|\]$/g, '');
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}
