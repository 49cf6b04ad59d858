import { describe, expect, it } from 'vitest';
import { krewFlaws, krewManifest, type Archive } from '../../deploy/krew.ts';

const archive: Archive = {
  os: 'linux',
  arch: 'amd64',
  uri: 'https://example.com/apphosting-0.1.0-linux-amd64.tar.gz',
  sha256: 'a'.repeat(64),
};

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
    ['the sha256 of', krewManifest('0.1.0', [{ ...archive, sha256: 'none' }]), 'apphosting.yaml'],
  ])('is refused where %s', (flaw, manifest, fileName) => {
    expect(krewFlaws(manifest, fileName)).toEqual([expect.stringContaining(flaw)]);
  });
});
