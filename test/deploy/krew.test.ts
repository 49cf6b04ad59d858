import { describe, expect, it } from 'vitest';
import { krewFlaws, krewManifest, type Archive } from '../../deploy/krew.ts';

const archive: Archive = {
  os: 'linux',
  arch: 'amd64',
  uri: 'https://example.com/apphosting-0.1.0-linux-amd64.tar.gz',
  sha256: 'a'.repeat(64),
};

const good = krewManifest('0.1.0', [archive]);

function changed(spec: Partial<(typeof good)['spec']>): typeof good {
  return { ...good, spec: { ...good.spec, ...spec } };
}

function onlyPlatform(platform: Partial<(typeof good)['spec']['platforms'][number]>): typeof good {
  return changed({ platforms: good.spec.platforms.map((one) => ({ ...one, ...platform })) });
}

describe('the manifest for krew', () => {
  it('keeps the rules of krew', () => {
    const manifest = krewManifest('0.1.0', [archive, { ...archive, arch: 'arm64' }]);

    expect(krewFlaws(manifest, 'apphosting.yaml')).toEqual([]);
  });

  it.each([
    ['two platforms are the same', krewManifest('0.1.0', [archive, archive]), 'apphosting.yaml'],
    ['there is no platform', krewManifest('0.1.0', []), 'apphosting.yaml'],
    ['the version is no semantic one with a v', krewManifest('one', [archive]), 'apphosting.yaml'],
    ['the file is not called as the plugin', krewManifest('0.1.0', [archive]), 'plugin.yaml'],
    [
      'is no https archive',
      krewManifest('0.1.0', [{ ...archive, uri: 'http://example.com/a.zip' }]),
      'apphosting.yaml',
    ],
    [
      'a line of description is longer than 80 characters',
      changed({ description: 'a word '.repeat(12) }),
      'apphosting.yaml',
    ],
    ['a line of caveats is longer than 80 characters', changed({ caveats: 'a word '.repeat(12) }), 'apphosting.yaml'],
    ['shortDescription has more than one line', changed({ shortDescription: 'one\ntwo' }), 'apphosting.yaml'],
    ['shortDescription is not of 1 to 50 characters', changed({ shortDescription: '' }), 'apphosting.yaml'],
    ['shortDescription ends with a period', changed({ shortDescription: 'Plans.' }), 'apphosting.yaml'],
    ['homepage is no https address', changed({ homepage: 'example.com' }), 'apphosting.yaml'],
    ['the name is reserved on Windows', { ...good, metadata: { name: 'com1' } }, 'com1.yaml'],
    ['the name is not kebab-case', { ...good, metadata: { name: 'App_Hosting' } }, 'App_Hosting.yaml'],
    ['the name repeats kubectl', { ...good, metadata: { name: 'kube-hosting' } }, 'kube-hosting.yaml'],
    ['apiVersion is not the one', { ...good, apiVersion: 'v1' }, 'apphosting.yaml'],
    ['kind is not Plugin', { ...good, kind: 'Program' }, 'apphosting.yaml'],
    ['is not among the files', onlyPlatform({ bin: 'other' }), 'apphosting.yaml'],
    ['has no LICENSE', onlyPlatform({ files: [{ from: 'kubectl-apphosting', to: '.' }] }), 'apphosting.yaml'],
    ['the sha256 of', krewManifest('0.1.0', [{ ...archive, sha256: 'none' }]), 'apphosting.yaml'],
  ])('is refused where %s', (flaw, manifest, fileName) => {
    expect(krewFlaws(manifest, fileName)).toEqual([expect.stringContaining(flaw)]);
  });
});
