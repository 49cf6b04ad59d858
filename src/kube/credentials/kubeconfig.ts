import type { Clock } from '../../base/clock.ts';
import { readFile } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import { z } from 'zod';
import { CredentialsError } from './access.ts';
import { ExecEntry } from './exec-plugin.ts';
import { within } from '../wait.ts';

const readDeadlineMs = 5_000;

const ClusterEntry = z.object({
  server: z.string(),
  'certificate-authority': z.string().optional(),
  'certificate-authority-data': z.string().optional(),
  'tls-server-name': z.string().optional(),
  'insecure-skip-tls-verify': z.boolean().optional(),
  'proxy-url': z.string().optional(),
});
const UserEntry = z.object({
  token: z.string().optional(),
  tokenFile: z.string().optional(),
  'client-certificate': z.string().optional(),
  'client-certificate-data': z.string().optional(),
  'client-key': z.string().optional(),
  'client-key-data': z.string().optional(),
  as: z.string().optional(),
  'as-uid': z.string().optional(),
  'as-groups': z.array(z.string()).optional(),
  exec: ExecEntry.optional(),
  'auth-provider': z.object({ name: z.string(), config: z.record(z.string(), z.string()).nullish() }).optional(),
});
const ContextEntry = z.object({ cluster: z.string(), user: z.string(), namespace: z.string().optional() });

const File = z.object({
  clusters: z.array(z.object({ name: z.string(), cluster: ClusterEntry })).nullish(),
  users: z.array(z.object({ name: z.string(), user: UserEntry.nullish() })).nullish(),
  contexts: z.array(z.object({ name: z.string(), context: ContextEntry })).nullish(),
  'current-context': z.string().nullish(),
});

export type ClusterEntry = z.infer<typeof ClusterEntry>;
export type UserEntry = z.infer<typeof UserEntry>;

/** One context of a kubeconfig, with the cluster and the user that it names; all paths are absolute. */
export interface KubeContext {
  readonly cluster: ClusterEntry;
  readonly user: UserEntry;
  readonly userName: string;
  readonly namespace: string | undefined;
}

/** Reads kubeconfig files as kubectl does: of two entries of one name the first counts. */
export async function readKubeconfig(
  files: readonly string[],
  context: string | undefined,
  clock: Clock,
): Promise<KubeContext> {
  const read = await Promise.all(files.map((file) => readFileOf(file, clock)));
  const title = `kubeconfig ${files.join(', ')}`;
  const wanted = context ?? read.map((file) => file['current-context'] ?? '').find((name) => name !== '');
  if (wanted === undefined) throw new CredentialsError(`${title} has no current context: choose one of its contexts`);
  const chosen = read.flatMap((file) => file.contexts ?? []).find(({ name }) => name === wanted)?.context;
  if (chosen === undefined) throw new CredentialsError(`${title} has no context "${wanted}"`);
  const cluster = read.flatMap((file) => file.clusters ?? []).find(({ name }) => name === chosen.cluster)?.cluster;
  if (cluster === undefined) throw new CredentialsError(`${title} has no cluster "${chosen.cluster}"`);
  const user = read.flatMap((file) => file.users ?? []).find(({ name }) => name === chosen.user);
  if (user === undefined) throw new CredentialsError(`${title} has no user "${chosen.user}"`);
  return { cluster, user: user.user ?? {}, userName: chosen.user, namespace: chosen.namespace };
}

async function readFileOf(file: string, clock: Clock): Promise<z.infer<typeof File>> {
  let text: string;
  try {
    text = await within(clock, readDeadlineMs, readFile(file, 'utf8'), `reading ${file}`);
  } catch (cause) {
    throw new CredentialsError(`kubeconfig ${file} cannot be read`, { cause });
  }
  // Imported here: a pod never needs it.
  const { parse } = await import('yaml');
  let value: unknown;
  try {
    value = parse(text);
  } catch {
    throw new CredentialsError(`kubeconfig ${file} is not YAML`);
  }
  const parsed = File.safeParse(value);
  if (!parsed.success) {
    const where = parsed.error.issues[0]?.path.join('.') ?? '';
    throw new CredentialsError(`kubeconfig ${file} is not as expected at "${where}"`);
  }
  return withAbsolutePaths(parsed.data, dirname(file));
}

function withAbsolutePaths(file: z.infer<typeof File>, folder: string): z.infer<typeof File> {
  const absolute = (path: string): string => (path === '' || isAbsolute(path) ? path : join(folder, path));
  for (const { cluster } of file.clusters ?? []) {
    const ca = cluster['certificate-authority'];
    if (ca !== undefined) cluster['certificate-authority'] = absolute(ca);
  }
  for (const { user } of file.users ?? []) {
    if (user === undefined || user === null) continue;
    for (const key of ['tokenFile', 'client-certificate', 'client-key'] as const) {
      const path = user[key];
      if (path !== undefined) user[key] = absolute(path);
    }
    // A command with a slash is relative to the file, one without is looked up.
    if (user.exec?.command.includes('/') === true) user.exec.command = absolute(user.exec.command);
  }
  return file;
}
