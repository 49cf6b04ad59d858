import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { codeOf } from '../cannot-start.ts';

/** The users that the API server knows from the start: the administrator, the operator and the controller manager. */
export const users = {
  admin: 'admin',
  operator: 'apphosting-operator',
  controllerManager: 'system:kube-controller-manager',
} as const;

/** One of the users that the API server knows from the start. */
export type User = keyof typeof users;

/**
 * The credentials of a control plane. `certDir` is the folder with the API server's certificate, `tokenFile` lists the
 * tokens of the API server's users, and `serviceAccountKeyFile` is the key that signs the tokens of service accounts.
 * `tokenOf` returns the token of a user.
 */
export type ControlPlaneCredentials = Awaited<ReturnType<typeof credentialsIn>>;

/** Reads the credentials of the control plane from a folder; creates them at the first start. */
export async function credentialsIn(dir: string) {
  const certDir = join(dir, 'certs');
  await mkdir(certDir, { recursive: true, mode: 0o700 });
  const serviceAccountKeyFile = join(dir, 'service-account.key');
  await existing(serviceAccountKeyFile, () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    return privateKey.export({ type: 'sec1', format: 'pem' }).toString();
  });
  const tokenFile = join(dir, 'tokens.csv');
  const rows = await existing(tokenFile, () =>
    Object.values(users)
      .map((name) => `${randomBytes(24).toString('base64url')},${name},${name},"system:masters"`)
      .join('\n'),
  );
  const tokens = new Map(rows.split('\n').map((row) => [row.split(',')[1], row.split(',')[0]]));
  const tokenOf = (user: User) => tokens.get(users[user]) ?? '';
  return { certDir, tokenFile, serviceAccountKeyFile, tokenOf };
}

/** Reads the certificate that the API server signed itself and that clients trust as its CA; returns undefined until it is written. */
export async function certificateIn(certDir: string): Promise<string | undefined> {
  const text = await readFile(join(certDir, 'apiserver.crt'), 'utf8').catch(() => undefined);
  return text?.trimEnd().endsWith('-----END CERTIFICATE-----') === true ? text : undefined;
}

/** Writes a kubeconfig for one user. */
export function kubeconfigFor(server: string, ca: string, user: string, token: string): string {
  const name = 'apphosting-sandbox';
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name, cluster: { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') } }],
    users: [{ name: user, user: { token } }],
    contexts: [{ name, context: { cluster: name, user, namespace: 'default' } }],
    'current-context': name,
  });
}

async function existing(path: string, make: () => string): Promise<string> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return '';
    throw error;
  });
  if (text !== '') return text;
  const made = make();
  await writeFile(path, made, { mode: 0o600 });
  return made;
}
