/** The manifest by which krew installs `kubectl apphosting`, and the rules that krew holds it to. */

/** An archive of one platform. */
export interface Archive {
  readonly os: 'linux' | 'darwin';
  readonly arch: 'amd64' | 'arm64';
  readonly uri: string;
  readonly sha256: string;
}

/** The manifest of a release. */
export function krewManifest(version: string, archives: readonly Archive[]) {
  return {
    apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
    kind: 'Plugin',
    metadata: { name: 'apphosting' },
    spec: {
      version: `v${version}`,
      homepage: 'https://github.com/apphosting/apphosting-operator',
      shortDescription: 'Plan, import and explain apps of a hosting service',
      description: [
        'Shows what applying manifests of apphosting.dev would change in the hosting',
        'service, writes an account as such manifests, and says why a resource is not',
        'Ready.',
      ].join('\n'),
      caveats: [
        'Completion: kubectl apphosting completion --install',
        'The operator itself is installed apart: see the homepage.',
      ].join('\n'),
      platforms: archives.map(({ os, arch, uri, sha256 }) => ({
        selector: { matchLabels: { os, arch } },
        uri,
        sha256,
        bin: 'kubectl-apphosting',
        files: [
          { from: 'kubectl-apphosting', to: '.' },
          { from: 'LICENSE', to: '.' },
          { from: 'LICENSES.txt', to: '.' },
        ],
      })),
    },
  };
}

const reserved = /^(con|prn|aux|nul|(com|lpt)[1-9])$/i;
const supported = new Set(['linux/amd64', 'linux/arm64', 'darwin/amd64', 'darwin/arm64']);

/** True where a line is longer than a terminal shows, and could be broken. */
function isTooLong(text: string, most: number): boolean {
  return text.split('\n').some((line) => line.length > most && line.trim().includes(' '));
}

/**
 * What krew would refuse of a manifest, one sentence each: the rules of its validator, and those of its developer guide.
 * https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/
 */
export function krewFlaws(manifest: ReturnType<typeof krewManifest>, fileName: string): readonly string[] {
  const { metadata, spec } = manifest;
  const labels = spec.platforms.map(({ selector }) => selector.matchLabels);
  const targets = labels.map(({ os, arch }) => `${os}/${arch}`);
  const checks: readonly (readonly [boolean, string])[] = [
    [manifest.apiVersion === 'krew.googlecontainertools.github.com/v1alpha2', 'apiVersion is not the one that krew reads'],
    [manifest.kind === 'Plugin', 'kind is not Plugin'],
    [/^[a-z0-9]+(-[a-z0-9]+)*$/.test(metadata.name), 'the name is not kebab-case'],
    [!reserved.test(metadata.name), 'the name is reserved on Windows'],
    [!metadata.name.startsWith('kube'), 'the name repeats kubectl'],
    [fileName === `${metadata.name}.yaml`, 'the file is not called as the plugin'],
    [/^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/.test(spec.version), 'the version is no semantic one with a v'],
    [spec.shortDescription !== '' && spec.shortDescription.length <= 50, 'shortDescription is not of 1 to 50 characters'],
    [!/[\r\n]/.test(spec.shortDescription), 'shortDescription has more than one line'],
    [!spec.shortDescription.endsWith('.'), 'shortDescription ends with a period'],
    [spec.description !== '', 'there is no description'],
    [!isTooLong(spec.description, 80), 'a line of description is longer than 80 characters'],
    [!isTooLong(spec.caveats, 80), 'a line of caveats is longer than 80 characters'],
    [spec.homepage.startsWith('https://'), 'homepage is no https address'],
    [targets.length > 0, 'there is no platform'],
    [new Set(targets).size === targets.length, 'two platforms are the same'],
    ...labels.map((label, at) => [
      Object.keys(label).every((key) => key === 'os' || key === 'arch') && supported.has(targets[at] ?? ''),
      `the selector of ${targets[at]} matches no platform of krew`,
    ] as const),
    ...spec.platforms.flatMap(({ uri, sha256, bin, files }) => [
      [uri.startsWith('https://') && uri.endsWith('.tar.gz'), `${uri} is no https archive`] as const,
      [/^[0-9a-f]{64}$/.test(sha256), `the sha256 of ${uri} is none`] as const,
      [files.some(({ from }) => from === bin), `${bin} is not among the files of ${uri}`] as const,
      [files.every(({ from, to }) => from !== '' && to !== ''), `a file of ${uri} lacks from or to`] as const,
      [!/(^|\/)\.\.(\/|$)|^\//.test(bin), `${bin} is outside of the plugin`] as const,
      [files.some(({ from }) => from === 'LICENSE'), `${uri} has no LICENSE`] as const,
    ]),
  ];
  return checks.flatMap(([holds, flaw]) => (holds ? [] : [flaw]));
}
