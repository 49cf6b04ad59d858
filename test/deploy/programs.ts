import { spawn } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';

/** What a program printed, and how it ended. */
export interface Printed {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end. */
export async function runProgram(
  command: string,
  args: readonly string[],
  options: { input?: string; cwd?: string } = {},
) {
  const { promise, resolve, reject } = Promise.withResolvers<Printed>();
  const child = spawn(command, args, { cwd: options.cwd, stdio: ['pipe', 'pipe', 'pipe'] });
  const printed = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk) => (printed.stdout += String(chunk)));
  child.stderr.on('data', (chunk) => (printed.stderr += String(chunk)));
  child.once('error', reject);
  child.once('close', (code) => resolve({ code: code ?? 1, ...printed }));
  // A program that reads nothing may end before we have written.
  child.stdin.on('error', () => undefined);
  child.stdin.end(options.input ?? '');
  return promise;
}

const tools = join(import.meta.dirname, 'tools');
const packages = {
  helm: 'helm.sh/helm/v4/cmd/helm',
  kubeconform: 'github.com/yannh/kubeconform/cmd/kubeconform',
  crdify: 'sigs.k8s.io/crdify',
  statuses: './statuses',
  rules: './rules',
} as const;

/** The tools that `npm run check:deploy` builds. */
export type Tool = keyof typeof packages;

/** Builds a tool at its pinned version; Go's own cache makes it quick from the second time on. */
export async function build(tool: Tool, into: string): Promise<string> {
  await mkdir(into, { recursive: true });
  const path = join(into, tool);
  process.stdout.write(`building ${tool} …\n`);
  const { code, stderr } = await runProgram('go', ['build', '-o', path, packages[tool]], { cwd: tools });
  if (code !== 0) throw new Error(`${tool} cannot be built: ${stderr.trim().split('\n').slice(-3).join('; ')}`);
  return path;
}
