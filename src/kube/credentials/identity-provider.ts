/**
 * The OIDC auth-provider of a kubeconfig, with what client-node 2.0.1 does wrong: it does not reach the issuer when a token has
 * expired (it passes the issuer's URL as text), takes the seconds that a new token lasts for the time at which it ends, and
 * forgets a refresh token that the issuer does not replace.
 */
import { type User } from '@kubernetes/client-node';
import { bufferFromFileOrString } from '@kubernetes/client-node/dist/config.js';
import { OpenIDConnectAuth } from '@kubernetes/client-node/dist/oidc_auth.js';
import type { CustomFetch } from 'openid-client';

export class IdentityProvider extends OpenIDConnectAuth {
  constructor() {
    super();
    this['getClient'] = async (user: User) => ({ refresh: (token: string) => refreshed(settingsOf(user), token) });
  }

  /** When the token of this user expires; undefined when there is none, or it says no time. */
  expiryOf(user: User): number | undefined {
    return user.authProvider?.name === 'oidc' ? expiryMs(settingsOf(user)['id-token']) : undefined;
  }

  /** The issuer is asked for a new token where the known one expires before this moment. */
  forgetBefore(user: User, momentMs: number): void {
    const isGood = (this.expiryOf(user) ?? 0) > momentMs;
    this['currentTokenExpiration'] = isGood ? Number.POSITIVE_INFINITY : 1;
  }
}

type Settings = Readonly<Record<string, string | undefined>>;

function settingsOf({ authProvider }: User): Settings {
  return authProvider?.config ?? {};
}

/** Few kubeconfigs have such a user: what speaks to an issuer is loaded for them alone. */
async function refreshed(settings: Settings, token: string) {
  const [{ customFetch, discovery, refreshTokenGrant }, { Agent, fetch }] = await Promise.all([
    import('openid-client'),
    import('undici'),
  ]);
  const ca = bufferFromFileOrString(
    settings['idp-certificate-authority'],
    settings['idp-certificate-authority-data'],
  )?.toString();
  const agent = new Agent(ca === undefined ? {} : { connect: { ca } });
  const through = (url: string, init: object) => fetch(url, { ...init, dispatcher: agent });
  try {
    const { 'idp-issuer-url': issuer = '', 'client-id': client = '', 'client-secret': secret } = settings;
    const options = { [customFetch]: through as unknown as CustomFetch };
    const provider = await discovery(new URL(issuer), client, secret || undefined, undefined, options);
    const { id_token, refresh_token = token } = await refreshTokenGrant(provider, token);
    return { id_token, refresh_token, expires_at: (expiryMs(id_token) ?? 0) / 1000 };
  } finally {
    await agent.destroy();
  }
}

/** The time at which a token says that it expires. */
function expiryMs(token: string | undefined): number | undefined {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token?.split('.')[1] ?? '', 'base64url').toString());
    const { exp } = claims as { readonly exp?: unknown };
    return typeof exp === 'number' ? exp * 1000 : undefined;
  } catch {
    return undefined;
  }
}
