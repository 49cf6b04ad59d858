import { isIP } from 'node:net';
import type { Secret } from '../../base/json.ts';

/** What a TLS connection to the API server is made with. */
export interface Tls {
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: Secret | undefined;
  readonly serverName: string | undefined;
  readonly insecure: boolean;
}

/** The credentials of one request; a new object whenever something of it changed. */
export interface KubeAccess {
  /** The value of the `Authorization` header. */
  readonly authorization: Secret | undefined;
  /** Headers that act on behalf of somebody else. */
  readonly impersonation: Readonly<Record<string, string | string[]>>;
  readonly tls: Tls;
}

/** A cluster and who we are there; tokens and certificates rotate behind it. */
export interface KubeCredentials {
  readonly server: URL;
  readonly proxy: URL | undefined;
  /** How messages call where all this stands, such as `kubeconfig /home/ann/.kube/config`. */
  readonly title: string;
  /** The namespace that the context or the pod stands in. */
  readonly namespace: string | undefined;
  /** The current credentials; cheap enough to be called before every request. */
  access(): Promise<KubeAccess>;
  /** Called after a 401; true when there is a newer credential. */
  renew(refused: KubeAccess): Promise<boolean>;
}

/** Credentials are wrong or missing; the message says what to do. */
export class CredentialsError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'CredentialsError';
  }
}

/** Whether a token may go to this server: over TLS, or to this machine itself. */
export function mayCarryToken(server: URL): boolean {
  if (server.protocol === 'https:') return true;
  const host = server.hostname.replace(/^\[|\]$/g, '');
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}
