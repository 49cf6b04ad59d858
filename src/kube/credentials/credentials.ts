import type { Clock } from '../../base/clock.ts';
import { access as exists, readFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { Secret } from '../../base/secret.ts';
import { type Access, type Credentials, CredentialsError, type Tls, type UserSource } from './access.ts';
import { execSource } from './exec-plugin.ts';
import { type ClusterEntry, type KubeContext, readKubeconfig } from './kubeconfig.ts';
import { providerSource } from './auth-provider.ts';
import { RotatingFile } from './rotating-file.ts';

const serviceAccountFolder = '/var/run/secrets/kubernetes.io/serviceaccount';
const leastBetweenRenewalsMs = 5_000;

/** Where credentials are looked for; the environment is passed in. */
export interface CredentialsOptions {
  readonly clock: Clock;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** An explicit kubeconfig; then nothing else is looked at. */
  readonly kubeconfig?: string;
  /** A context of the kubeconfig other than its current one. */
  readonly context?: string;
  /** Where a pod finds its service account; only tests say so. */
  readonly serviceAccountFolder?: string;
}

/** Finds the cluster: the explicit file, `KUBECONFIG`, the pod's service account, the file in the home folder. */
export async function findCredentials(options: CredentialsOptions): Promise<Credentials> {
  const { env, clock, kubeconfig, context } = options;
  if (kubeconfig !== undefined) return fromContext(await readKubeconfig([kubeconfig], context, clock), options);
  const listed = (env['KUBECONFIG'] ?? '').split(delimiter).filter((file) => file !== '');
  if (listed.length > 0) return fromContext(await readKubeconfig(listed, context, clock), options);
  const folder = options.serviceAccountFolder ?? serviceAccountFolder;
  if (env['KUBERNETES_SERVICE_HOST'] !== undefined && (await isThere(join(folder, 'token')))) {
    return fromPod(folder, options);
  }
  const home = env['HOME'] ?? env['USERPROFILE'];
  const usual = home === undefined ? undefined : join(home, '.kube', 'config');
  if (usual !== undefined && (await isThere(usual))) {
    return fromContext(await readKubeconfig([usual], context, clock), options);
  }
  throw new CredentialsError('there is no cluster: no kubeconfig is given, and this is not a pod');
}

async function fromPod(folder: string, { env, clock }: CredentialsOptions): Promise<Credentials> {
  const host = env['KUBERNETES_SERVICE_HOST'] ?? '';
  const port = env['KUBERNETES_SERVICE_PORT'] ?? '443';
  const token = new RotatingFile(join(folder, 'token'), clock);
  const ca = new RotatingFile(join(folder, 'ca.crt'), clock);
  const namespace = await readFile(join(folder, 'namespace'), 'utf8').catch(() => '');
  return assemble({
    clock,
    server: new URL(`https://${host.includes(':') ? `[${host}]` : host}:${port}`),
    namespace: namespace.trim(),
    ca: (fresh) => ca.read(fresh),
    user: async (fresh) => ({ ...nobody, authorization: bearer(await token.read(fresh)) }),
  });
}

function fromContext(context: KubeContext, options: CredentialsOptions): Credentials {
  const { cluster, user, namespace } = context;
  const { clock } = options;
  const server = URL.parse(cluster.server);
  if (server === null || !['http:', 'https:'].includes(server.protocol)) {
    throw new CredentialsError('the server of the kubeconfig is not an http or https URL');
  }
  const groups = user['as-groups'];
  return assemble({
    clock,
    server,
    namespace,
    cluster,
    impersonation: {
      ...(user.as !== undefined && { 'impersonate-user': user.as }),
      ...(user['as-uid'] !== undefined && { 'impersonate-uid': user['as-uid'] }),
      ...(groups !== undefined && { 'impersonate-group': groups }),
    },
    ca: textSource(cluster['certificate-authority-data'], cluster['certificate-authority'], clock),
    user: userSource(context, options),
  });
}

const nobody = { authorization: undefined, cert: undefined, key: undefined };

function userSource(context: KubeContext, { env, clock }: CredentialsOptions): UserSource {
  const { user, cluster } = context;
  if (user.exec !== undefined) return execSource({ entry: user.exec, cluster: forPlugin(cluster), env, clock });
  if (user['auth-provider'] !== undefined) return providerSource(context, clock);
  const file = user.tokenFile === undefined ? undefined : new RotatingFile(user.tokenFile, clock);
  const cert = textSource(user['client-certificate-data'], user['client-certificate'], clock);
  const key = textSource(user['client-key-data'], user['client-key'], clock);
  return async (fresh) => {
    const keyText = await key(fresh);
    const token = file === undefined ? user.token : await file.read(fresh);
    return {
      authorization: token === undefined || token === '' ? undefined : bearer(token),
      cert: await cert(fresh),
      key: keyText === undefined ? undefined : new Secret(keyText),
    };
  };
}

function forPlugin(cluster: ClusterEntry): Readonly<Record<string, unknown>> {
  const { 'certificate-authority': _file, ...rest } = cluster;
  return rest;
}

type TextSource = (fresh: boolean) => Promise<string | undefined>;

/** Text that stands in the kubeconfig as base64, or in a file that may be replaced. */
function textSource(data: string | undefined, path: string | undefined, clock: Clock): TextSource {
  if (data !== undefined && data !== '') {
    const text = Buffer.from(data, 'base64').toString('utf8');
    return () => Promise.resolve(text);
  }
  if (path === undefined || path === '') return () => Promise.resolve(undefined);
  const file = new RotatingFile(path, clock);
  return (fresh) => file.read(fresh);
}

interface Parts {
  readonly clock: Clock;
  readonly server: URL;
  readonly namespace: string | undefined;
  readonly cluster?: ClusterEntry;
  readonly impersonation?: Access['impersonation'];
  readonly ca: TextSource;
  readonly user: UserSource;
}

/** Puts the parts together; an `Access` and its `Tls` stay the same objects for as long as nothing of them changed. */
function assemble({ clock, server, namespace, cluster, impersonation, ca, user }: Parts): Credentials {
  let known: Access | undefined;
  let renewedAt = Number.NEGATIVE_INFINITY;
  const build = async (fresh: boolean): Promise<Access> => {
    const [shown, caText] = await Promise.all([user(fresh), ca(fresh)]);
    const tls: Tls = {
      ca: caText,
      cert: shown.cert,
      key: shown.key,
      serverName: cluster?.['tls-server-name'],
      insecure: cluster?.['insecure-skip-tls-verify'] ?? false,
    };
    const sameTls = known !== undefined && isSameTls(known.tls, tls);
    if (sameTls && isSameSecret(known?.authorization, shown.authorization) && known !== undefined) return known;
    known = {
      authorization: shown.authorization,
      impersonation: impersonation ?? {},
      tls: sameTls && known !== undefined ? known.tls : tls,
    };
    return known;
  };
  return {
    server,
    namespace: namespace === '' ? undefined : namespace,
    proxy: cluster?.['proxy-url'] === undefined ? undefined : new URL(cluster['proxy-url']),
    access: () => build(false),
    renew: async (refused) => {
      if ((await build(false)) !== refused) return true;
      if (clock.monotonic() - renewedAt < leastBetweenRenewalsMs) return false;
      renewedAt = clock.monotonic();
      return (await build(true)) !== refused;
    },
  };
}

function bearer(token: string): Secret {
  return new Secret(`Bearer ${token.trim()}`);
}

function isSameTls(a: Tls, b: Tls): boolean {
  return a.ca === b.ca && a.cert === b.cert && isSameSecret(a.key, b.key);
}

function isSameSecret(a: Secret | undefined, b: Secret | undefined): boolean {
  return a?.reveal() === b?.reveal();
}

async function isThere(file: string): Promise<boolean> {
  return exists(file).then(
    () => true,
    () => false,
  );
}
