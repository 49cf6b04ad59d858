import type { Clock } from '../../base/clock.ts';
import type { RequestOptions } from 'node:https';
import { Secret } from '../../base/secret.ts';
import { CredentialsError, type UserSource } from './access.ts';
import type { KubeContext } from './kubeconfig.ts';
import { within } from '../wait.ts';

const deadlineMs = 60_000;
const keepMs = 60_000;

/** Credentials of the older `auth-provider` entries (OpenID Connect and clouds), which client-node knows how to refresh. */
export function providerSource({ cluster, user, userName }: KubeContext, clock: Clock): UserSource {
  let known: { readonly authorization: Secret | undefined; readonly at: number } | undefined;
  return async (fresh) => {
    if (known === undefined || fresh || clock.monotonic() - known.at > keepMs) {
      // Imported here: it costs 88 MB of memory, and hardly anybody needs it.
      const { KubeConfig } = await import('@kubernetes/client-node');
      const config = new KubeConfig();
      const place = { name: 'cluster', server: cluster.server, skipTLSVerify: true };
      config.loadFromClusterAndUser(place, { name: userName, authProvider: user['auth-provider'] });
      const options: RequestOptions = {};
      const title = `getting credentials of the kubeconfig's user "${userName}"`;
      try {
        await within(clock, deadlineMs, config.applyToHTTPSOptions(options), title);
      } catch {
        // What went wrong there may quote the token, so it is not passed on.
        throw new CredentialsError(`${title} did not succeed`);
      }
      known = { authorization: authorizationOf(options), at: clock.monotonic() };
    }
    return { authorization: known.authorization, cert: undefined, key: undefined };
  };
}

function authorizationOf({ headers }: RequestOptions): Secret | undefined {
  if (headers === undefined || headers === null || Array.isArray(headers)) return undefined;
  const value = Object.entries(headers).find(([name]) => name.toLowerCase() === 'authorization')?.[1];
  return typeof value === 'string' ? new Secret(value) : undefined;
}
