import { chmod, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { binariesIn, programNames } from '../../../src/sandbox/binaries/binaries.ts';
import { cacheAt } from '../../../src/sandbox/binaries/cache.ts';
import { CannotStart } from '../../../src/sandbox/cannot-start.ts';
import { whyNotGo, isRecentGo } from '../../../src/sandbox/binaries/go-build.ts';
import type { Progress } from '../../../src/sandbox/binaries/progress.ts';
import { archiveFor, platformName } from '../../../src/sandbox/binaries/releases.ts';
import { findBinaries } from '../../../src/sandbox/binaries/sources.ts';
import type { Means } from '../../../src/sandbox/binaries/sources.ts';
import { temporaryDir } from '../../support/temporary.ts';

const silent: Progress = { say: () => {}, during: (_, work) => work(() => {}) };

async function fill(dir: string, names: readonly string[] = Object.values(programNames)): Promise<void> {
  await mkdir(dir, { recursive: true });
  await Promise.all(names.map((name) => writeFile(join(dir, name), `#!/bin/sh\n# ${name}\n`, { mode: 0o755 })));
}

const offline: Means = {
  archiveFor,
  unpackArchive: () => Promise.reject(new CannotStart('github.com did not answer in 6 s')),
  whyNotGo: () => Promise.resolve('Go 1.26 or newer is not on PATH'),
  buildWithGo: () => Promise.reject(new Error('must not be asked')),
};

async function where(assets?: string) {
  const dir = await temporaryDir();
  return { platform: 'linux', arch: 'x64', assets, cacheDir: join(dir, 'cache') };
}

describe('the programs of a control plane', () => {
  it('come from KUBEBUILDER_ASSETS first', async () => {
    const dir = await temporaryDir();
    await fill(dir);

    const found = await findBinaries(await where(dir), silent, undefined, offline);

    expect(found.etcd).toBe(join(dir, 'etcd'));
  });

  it('may come without a controller manager', async () => {
    const dir = await temporaryDir();
    await fill(dir, ['etcd', 'kube-apiserver', 'kubectl']);

    expect(await binariesIn(dir)).toMatchObject({ controllerManager: undefined });
  });

  it('come from the official archive before Go, and from our cache from then on', async () => {
    const place = await where();
    let asked = 0;
    const unpackArchive = async (_: unknown, into: string) => {
      asked += 1;
      await fill(into, ['etcd', 'kube-apiserver', 'kubectl']);
    };

    const first = await findBinaries(place, silent, undefined, { ...offline, unpackArchive });
    const second = await findBinaries(place, silent, undefined, offline);

    expect(asked).toBe(1);
    expect(second).toEqual(first);
    expect(dirname(first.etcd)).toContain('envtest-v1.36.2-linux-amd64');
  });

  it('come from Go when nothing else has them', async () => {
    const place = await where();
    const means = { ...offline, whyNotGo: () => Promise.resolve(undefined), buildWithGo: (into: string) => fill(into) };

    const found = await findBinaries(place, silent, undefined, means);

    expect(found.controllerManager).toContain('kubernetes-v1.36.3-etcd-v3.6.8-linux-amd64/kube-controller-manager');
  });

  it('are made once when two start at the same time', async () => {
    const place = await where();
    let asked = 0;
    const buildWithGo = async (into: string) => {
      asked += 1;
      await fill(into);
    };
    const means = { ...offline, whyNotGo: () => Promise.resolve(undefined), buildWithGo };

    const [one, other] = await Promise.all([1, 2].map(() => findBinaries(place, silent, undefined, means)));

    expect(one).toEqual(other);
    expect(asked).toBe(1);
  });

  it('are asked for in one message that names the four ways and what each said', async () => {
    const place = await where('/does/not/exist');

    const asking = findBinaries(place, silent, undefined, offline);

    await expect(asking).rejects.toThrow(CannotStart);
    await expect(asking).rejects.toThrow(/1\. KUBEBUILDER_ASSETS names \/does\/not\/exist, which lacks etcd/);
    await expect(asking).rejects.toThrow(/2\. the cache .* has no control plane of this version for linux-amd64/);
    await expect(asking).rejects.toThrow(/3\. the official archive .* did not answer in 6 s/);
    await expect(asking).rejects.toThrow(/4\. Go 1\.26 or newer is not on PATH/);
  });
});

describe('the cache', () => {
  it('takes an entry for absent that lost a program', async () => {
    const dir = await temporaryDir();
    const cache = cacheAt(dir);
    await cache.make('robbed', fill);
    await rm(join(dir, 'robbed', 'etcd'));

    expect(await cache.find('absent')).toBeUndefined();
    expect(await cache.find('robbed')).toBeUndefined();
  });

  it('puts a whole entry in the place of a broken one', async () => {
    const dir = await temporaryDir();
    const cache = cacheAt(dir);
    await fill(join(dir, 'key'), ['etcd']);

    const made = await cache.make('key', fill);

    expect(await cache.find('key')).toEqual(made);
  });

  it('keeps nothing of an attempt that failed', async () => {
    const dir = await temporaryDir();

    await expect(cacheAt(dir).make('key', () => Promise.reject(new Error('no')))).rejects.toThrow('no');

    expect(await readdir(dir)).toEqual([]);
  });

  it('says so where it cannot be written', async () => {
    const place = await where();
    await writeFile(place.cacheDir, '');

    await expect(findBinaries(place, silent, undefined, offline)).rejects.toThrow(
      `the cache ${place.cacheDir}/control-plane is not writable: set XDG_CACHE_HOME to another folder`,
    );
  });

  it('is read where it cannot be written', async () => {
    const place = await where();
    const made = await findBinaries(place, silent, undefined, { ...offline, unpackArchive: (_, into) => fill(into) });
    await chmod(join(place.cacheDir, 'control-plane'), 0o500);

    expect(await findBinaries(place, silent, undefined, offline)).toEqual(made);
  });
});

describe('Go', () => {
  it.each([
    { version: 'go1.26.0', recent: true },
    { version: 'go1.26rc1', recent: true },
    { version: 'go1.30.2', recent: true },
    { version: 'go2.0', recent: true },
    { version: 'go1.25.9', recent: false },
    { version: 'go1.3', recent: false },
    { version: 'gccgo', recent: false },
  ])('$version is recent enough: $recent', ({ version, recent }) => {
    expect(isRecentGo(version)).toBe(recent);
  });

  it('is asked what it is', async () => {
    const dir = await temporaryDir();
    const go = join(dir, 'go');
    await writeFile(go, '#!/bin/sh\necho go1.25.1\n');
    await chmod(go, 0o755);

    expect(await whyNotGo(go)).toBe('Go 1.26 or newer is needed, but the version on PATH is go1.25.1');
    expect(await whyNotGo(join(dir, 'absent'))).toBe('Go 1.26 or newer is not on PATH');
  });
});

describe('the official archive', () => {
  it.each(['linux-amd64', 'linux-arm64', 'darwin-amd64', 'darwin-arm64'])('is pinned for %s', (platform) => {
    expect(archiveFor(platform)?.sha512).toMatch(/^[0-9a-f]{128}$/);
  });

  it('is not pinned for what nobody checked', () => {
    expect(archiveFor(platformName('win32', 'x64'))).toBeUndefined();
  });
});
