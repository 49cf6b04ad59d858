import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ProgramPlaces } from '../../config.ts';
import { unpackArchive } from './archive.ts';
import { type Binaries, binariesIn } from './binaries.ts';
import { InUse } from '../../simulator/store/lock.ts';
import { type BinaryCache, cacheAt } from './cache.ts';
import { CannotStart, reasonOf } from '../cannot-start.ts';
import { buildWithGo, whyNotGo } from './go-build.ts';
import type { Progress, Work } from './progress.ts';
import { archiveFor, ARCHIVE_VERSION, ETCD_VERSION, KUBERNETES_VERSION, platformName } from './releases.ts';

/** The functions that download or build the programs of a control plane; tests pass their own. */
export type Means = typeof realMeans;

const realMeans = { archiveFor, unpackArchive, whyNotGo: () => whyNotGo(), buildWithGo };
const never = new AbortController().signal;

/**
 * Finds the programs of a control plane. Tries four sources in this order: the folder in KUBEBUILDER_ASSETS, the cache, the
 * official archive, a build with Go. If all four fail, throws `CannotStart` with the reason of each.
 */
export async function findBinaries(
  where: ProgramPlaces,
  progress: Progress,
  signal: AbortSignal = never,
  means: Means = realMeans,
): Promise<Binaries> {
  const refusals: string[] = [];
  const given = await fromAssets(where.assets, refusals);
  if (given !== undefined) return given;

  const platform = platformName(where.platform, where.arch);
  const keys = {
    built: `kubernetes-${KUBERNETES_VERSION}-etcd-${ETCD_VERSION}-${platform}`,
    unpacked: `envtest-${ARCHIVE_VERSION}-${platform}`,
  };
  const cache = cacheAt(join(where.cacheDir, 'control-plane'));
  const cached = async () => (await cache.find(keys.built)) ?? cache.find(keys.unpacked);
  const kept = await cached();
  if (kept !== undefined) return kept;
  refusals.push(`the cache ${cache.dir} has no control plane of this version for ${platform}`);

  const release = await turnOf(cache, progress, signal);
  /**
   * Makes a cache entry. If that fails, returns undefined, and keeps `trouble` and the reason for the error that
   * `findBinaries` throws if every source fails.
   */
  const made = async (key: string, step: string, trouble: string, fill: (dir: string, work: Work) => Promise<void>) => {
    try {
      return await progress.during(step, (detail) => cache.make(key, (dir) => fill(dir, { detail, signal })));
    } catch (error) {
      signal.throwIfAborted();
      refusals.push(`${trouble}: ${reasonOf(error)}`);
      return undefined;
    }
  };
  try {
    const meanwhile = await cached();
    if (meanwhile !== undefined) return meanwhile;
    const archive = means.archiveFor(platform);
    if (archive === undefined) refusals.push(`there is no official Kubernetes archive for ${platform}`);
    else {
      const step = `downloading Kubernetes ${ARCHIVE_VERSION} (the official test archive)`;
      const trouble = `the official archive ${archive.url} cannot be used`;
      const unpacked = await made(keys.unpacked, step, trouble, (dir, work) => means.unpackArchive(archive, dir, work));
      if (unpacked !== undefined) return unpacked;
    }
    const obstacle = await means.whyNotGo();
    if (obstacle !== undefined) refusals.push(obstacle);
    else {
      const step = `building Kubernetes ${KUBERNETES_VERSION} with Go (takes about 5 minutes on two cores, only the first time)`;
      const built = await made(keys.built, step, 'Go cannot build Kubernetes', means.buildWithGo);
      if (built !== undefined) return built;
    }
  } finally {
    release();
  }
  throw new CannotStart(nothingWorked(refusals));
}

async function fromAssets(dir: string | undefined, refusals: string[]): Promise<Binaries | undefined> {
  if (dir === undefined) {
    refusals.push('KUBEBUILDER_ASSETS is not set');
    return undefined;
  }
  const found = await binariesIn(dir);
  if (!('missing' in found)) return found;
  refusals.push(`KUBEBUILDER_ASSETS names ${dir}, which lacks ${found.missing.join(', ')}`);
  return undefined;
}

async function turnOf(cache: BinaryCache, progress: Progress, signal: AbortSignal): Promise<() => void> {
  for (let told = false; ; told = true) {
    try {
      return await cache.takeTurn();
    } catch (error) {
      if (!(error instanceof InUse)) throw error;
      if (!told) progress.say(`waiting until another process has prepared the control plane (${error.message})`);
    }
    await sleep(500, undefined, { signal });
  }
}

function nothingWorked(refusals: readonly string[]): string {
  return [
    'there are four ways to get a Kubernetes control plane, and none of them works here:',
    ...refusals.map((refusal, at) => `  ${at + 1}. ${refusal}`),
    'It is enough to make one of the four ways work.',
  ].join('\n');
}
