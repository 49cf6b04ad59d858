/**
 * Extends the classes with which client-node runs exec plugins and renews OIDC tokens: limits the time and the output of a
 * plugin, keeps its output out of error messages, and corrects three mistakes with OIDC tokens (see `IdentityProvider`).
 */
import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process';
import type { RequestOptions } from 'node:https';
import type { User } from '@kubernetes/client-node';
import { type Credential, ExecAuth } from '@kubernetes/client-node/dist/exec_auth.js';
import { isRecord, jsonIn } from '../../base/json.ts';
import type { Clock } from '../../base/time.ts';
import { bufferFromFileOrString } from '@kubernetes/client-node/dist/config.js';
import { OpenIDConnectAuth } from '@kubernetes/client-node/dist/oidc_auth.js';
import type { CustomFetch } from 'openid-client';

/** The longest time, in ms, that an exec plugin may run. */
export const pluginMs = 60_000;
const mostOutputBytes = 1024 * 1024;

/**
 * Runs the exec plugins of a kubeconfig through client-node, and adds three things: a deadline that ends the program and its child
 * processes, a limit on its output, and a new credential before the old one expires.
 */
export class ExecPlugin extends ExecAuth {
  /** A message about how the last run of the plugin ended. The message quotes nothing of the plugin's output. */
  ending = 'the program was not started';

  constructor(clock: Clock) {
    super();
    this['execFn'] = (command: string, args: readonly string[] | undefined, options: SpawnOptions) =>
      this.#run(clock, spawn(command, args ?? [], { ...options, stdio: ['ignore', 'pipe', 'pipe'], detached: true }));
  }

  /**
   * Runs an exec plugin of a kubeconfig as client-node does, but replaces client-node's error messages, because they quote the
   * output of the plugin. This output may contain the credential.
   */
  override async applyAuthentication(user: User, options: RequestOptions): Promise<void> {
    try {
      await super.applyAuthentication(user, options);
    } catch {
      this.forget(user);
      throw new PluginError(this.ending);
    }
  }

  /** Returns when the user's credential expires; undefined without a credential, or if the credential has no expiry time. */
  expiryOf({ name }: User): number | undefined {
    const known = (this['tokenCache'] as Readonly<Record<string, Credential | null | undefined>>)[name];
    const expiry = Date.parse(known?.status?.expirationTimestamp ?? '');
    return Number.isNaN(expiry) ? undefined : expiry;
  }

  /** Forgets the user's credential, so that the next request runs the exec plugin again. */
  forget({ name }: User): void {
    delete this['tokenCache'][name];
  }

  #run(clock: Clock, child: ChildProcess): ChildProcess {
    const nonsense = 'the program printed something that is not an ExecCredential';
    this.ending = nonsense;
    let size = 0;
    const end = (why: string): void => {
      this.ending = why;
      // Kill the whole process group. If only a shell were killed, its children would live on and keep our pipe open.
      if (child.pid !== undefined) kill(-child.pid);
    };
    const cancel = clock.after(pluginMs, () => end(`the program did not end within ${pluginMs / 1000} s`));
    // Limit the output of the exec plugin, because client-node keeps all of it in memory until the plugin ends.
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (part: string | Buffer) => {
        size += part.length;
        if (size > mostOutputBytes) end(`the program printed more than ${mostOutputBytes} bytes`);
      });
    }
    child.once(
      'error',
      (error: NodeJS.ErrnoException) => (this.ending = `the program cannot start (${error.code ?? 'error'})`),
    );
    child.once('close', cancel);
    child.once('exit', (code, signal) => {
      // Keep a message that is no longer the initial one: it already says that the plugin could not start, or why the
      // operator ended the plugin.
      if (this.ending !== nonsense) return;
      if (signal !== null) this.ending = `the program was ended by ${signal}`;
      else if (code !== 0) this.ending = `the program ended with exit code ${code}`;
    });
    return child;
  }
}

/** Thrown when an exec plugin gave no credential. The message says how the plugin ended. */
export class PluginError extends Error {
  override readonly name = 'PluginError';
}

function kill(group: number): void {
  try {
    process.kill(group, 'SIGKILL');
  } catch {
    // Ignore the error, which means that the process group has already ended.
  }
}

/**
 * The OIDC auth-provider of a kubeconfig. Corrects three mistakes of the library client-node 2.0.1:
 * - When a token has expired, client-node cannot reach the issuer, because it passes the issuer's URL as a string instead of a
 *   URL object.
 * - It mistakes the lifetime of a new token, in seconds, for the time at which the token expires.
 * - It forgets the old refresh token when the issuer sends no new one.
 */
export class IdentityProvider extends OpenIDConnectAuth {
  constructor() {
    super();
    this['getClient'] = async (user: User) => ({ refresh: (token: string) => refreshed(settingsOf(user), token) });
  }

  /** Returns when the user's token expires; undefined without a token, or if the token has no expiry time. */
  expiryOf(user: User): number | undefined {
    return user.authProvider?.name === 'oidc' ? expiryMs(settingsOf(user)['id-token']) : undefined;
  }

  /** Forgets the token, so that the next request asks the issuer for a new one. */
  forget(): void {
    this['currentTokenExpiration'] = 1;
  }
}

type OidcSettings = Readonly<Record<string, string | undefined>>;

function settingsOf({ authProvider }: User): OidcSettings {
  return authProvider?.config ?? {};
}

/** Asks the OIDC issuer for a new token. Few kubeconfigs use OIDC, so the libraries for OIDC are loaded only here. */
async function refreshed(settings: OidcSettings, token: string) {
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

/** Returns the expiry time of a JWT in ms; undefined if the token is not a JWT with an expiry time. */
function expiryMs(token: string | undefined): number | undefined {
  const claims = jsonIn(Buffer.from(token?.split('.')[1] ?? '', 'base64url').toString());
  return isRecord(claims) && typeof claims['exp'] === 'number' ? claims['exp'] * 1000 : undefined;
}
