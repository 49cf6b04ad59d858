import type { Clock } from '../../base/clock.ts';
import { execFile } from 'node:child_process';
import { z } from 'zod';
import { Secret } from '../../base/secret.ts';
import { CredentialsError, type Shown, type UserSource } from './access.ts';

const runDeadlineMs = 60_000;
const aheadMs = 60_000;
const mostOutputBytes = 1024 * 1024;

/** The `exec` entry of a user in a kubeconfig. */
export const ExecEntry = z.object({
  apiVersion: z.string(),
  command: z.string().min(1),
  args: z.array(z.string()).nullish(),
  env: z.array(z.object({ name: z.string(), value: z.string() })).nullish(),
  installHint: z.string().optional(),
  provideClusterInfo: z.boolean().optional(),
  interactiveMode: z.string().optional(),
});
export type ExecEntry = z.infer<typeof ExecEntry>;

const Answer = z.object({
  status: z.object({
    token: z.string().optional(),
    clientCertificateData: z.string().optional(),
    clientKeyData: z.string().optional(),
    expirationTimestamp: z.string().nullish(),
  }),
});

/** What running a plugin takes. */
export interface ExecOptions {
  readonly entry: ExecEntry;
  /** As the plugin is told when it asks for it. */
  readonly cluster: Readonly<Record<string, unknown>>;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
}

/** Credentials that a program prints: run again a minute before they expire, and when the API server refused them. */
export function execSource(options: ExecOptions): UserSource {
  if (options.entry.interactiveMode === 'Always') {
    throw new CredentialsError(`the program ${options.entry.command} of the kubeconfig wants a terminal`);
  }
  let known: { readonly shown: Shown; readonly expiresAt: number } | undefined;
  let running: Promise<Shown> | undefined;
  const run = async (): Promise<Shown> => {
    const answer = await runPlugin(options);
    const { token, clientCertificateData, clientKeyData, expirationTimestamp } = answer.status;
    const expiresAt = Date.parse(expirationTimestamp ?? '');
    const shown: Shown = {
      authorization: token === undefined ? undefined : new Secret(`Bearer ${token.trim()}`),
      cert: clientCertificateData,
      key: clientKeyData === undefined ? undefined : new Secret(clientKeyData),
    };
    known = { shown, expiresAt: Number.isNaN(expiresAt) ? Number.POSITIVE_INFINITY : expiresAt };
    return shown;
  };
  return async (fresh) => {
    if (known !== undefined && !fresh && options.clock.wall() < known.expiresAt - aheadMs) return known.shown;
    running ??= run().finally(() => (running = undefined));
    return running;
  };
}

function runPlugin({ entry, cluster, env }: ExecOptions): Promise<z.infer<typeof Answer>> {
  const info = {
    apiVersion: entry.apiVersion,
    kind: 'ExecCredential',
    spec: { interactive: false, ...(entry.provideClusterInfo === true && { cluster }) },
  };
  const own = Object.fromEntries((entry.env ?? []).map(({ name, value }) => [name, value]));
  return new Promise((resolve, reject) => {
    const child = execFile(
      entry.command,
      entry.args ?? [],
      {
        env: { ...env, ...own, KUBERNETES_EXEC_INFO: JSON.stringify(info) },
        timeout: runDeadlineMs,
        killSignal: 'SIGKILL',
        maxBuffer: mostOutputBytes,
      },
      (error, stdout) => {
        if (error !== null) return reject(refused(entry, `ended with ${String(error.code ?? error.signal)}`));
        try {
          resolve(Answer.parse(JSON.parse(stdout)));
        } catch {
          reject(refused(entry, 'printed something that is not an ExecCredential'));
        }
      },
    );
    child.stdin?.end();
  });
}

/** What the program printed is never shown: it may be the credential. */
function refused(entry: ExecEntry, how: string): CredentialsError {
  const hint = entry.installHint === undefined ? '' : ` (${entry.installHint.trim()})`;
  return new CredentialsError(`the program ${entry.command} of the kubeconfig ${how}${hint}`);
}
