/*
 * Other people's engines, built from their Go modules for the trials: Argo CD, kustomize-controller of Flux, kustomize and Helm. Redis comes from
 * the system. What cannot be had here is told, and its trials are left out.
 */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import process from 'node:process';
import type { TestProject } from 'vitest/node';
import { programPlaces } from '../../../src/config.ts';
import { progressOn, type Progress } from '../../../src/sandbox/binaries/progress.ts';
import { NotRun } from '../../deploy/support/report.ts';
import { builtFrom } from '../../deploy/tools.ts';

/** A folder with programs, or why there is none. */
export type Had = { readonly dir: string } | { readonly missing: string };

/** What the trials are told. */
export interface Engines {
  /** Argo CD's one program, which is called `cmd`. */
  readonly argocd: Had;
  /** `kustomize-controller`. */
  readonly flux: Had;
  /** `kustomize`, which is built with Flux; Argo CD needs it. */
  readonly kustomize: Had;
  readonly helm: Had;
  readonly redis: Had;
}

declare module 'vitest' {
  export interface ProvidedContext {
    engines: Engines;
  }
}

/** The only ones that are wanted, where somebody is at work on the trials of one. */
const wanted = process.env['ENGINES']?.split(',');
const minutes = { argocd: 12, flux: 8, helm: 3 };
type Engine = keyof typeof minutes;

/** Builds what is not in the cache, one after the other. */
export async function setup({ provide }: TestProject): Promise<void> {
  const progress = progressOn(process.stderr);
  const had = async (name: Engine): Promise<Had> => (isWanted(name) ? built(name, progress) : unwanted(name));
  const flux = await had('flux');
  const kustomize = isWanted('flux') || !isWanted('argocd') ? flux : await built('flux', progress);
  const helm = await had('helm');
  provide('engines', { flux, kustomize, helm, argocd: await had('argocd'), redis: onPath('redis-server') });
}

function isWanted(name: Engine): boolean {
  return wanted?.includes(name) !== false;
}

function unwanted(name: Engine): Had {
  return { missing: `${name} is not among ENGINES` };
}

async function built(name: Engine, progress: Progress): Promise<Had> {
  const words = `${name} from its Go modules (about ${minutes[name]} minutes on two cores, once)`;
  const programs = { name: 'engines', source: join(import.meta.dirname, name), target: 'tool', words } as const;
  try {
    return { dir: await builtFrom({ ...programs, wholeMs: 90 * 60_000 }, programPlaces().cacheDir, progress) };
  } catch (error) {
    if (!(error instanceof NotRun)) throw error;
    progress.say(`${name} is not to be had: ${error.message}`);
    return { missing: error.message };
  }
}

function onPath(program: string): Had {
  const dir = (process.env['PATH'] ?? '').split(delimiter).find((folder) => existsSync(join(folder, program)));
  return dir === undefined ? { missing: `${program} on PATH (on Debian: apt-get install ${program})` } : { dir };
}
