/** Rules about the files of the repository, each a function from what it looks at to what is wrong. */

type Files = ReadonlyMap<string, string>;

/** Dependencies that are not pinned to one version. */
export function loosePins(packageJson: string): readonly string[] {
  const parsed = JSON.parse(packageJson) as Readonly<Record<string, Readonly<Record<string, string>> | undefined>>;
  return ['dependencies', 'devDependencies', 'optionalDependencies'].flatMap((section) =>
    Object.entries(parsed[section] ?? {})
      .filter(([, version]) => !/^\d+\.\d+\.\d+(?:-[\w.]+)?$/u.test(version))
      .map(([name, version]) => `${section}.${name} is ${version}, not one exact version`),
  );
}

// A lockfile says where a package came from only as the public registry does; anything else ties the project to a machine.
const registries =
  /https?:\/\/(?!registry\.npmjs\.org\/)[^/\s"']*(?:registry|npm|proxy|artifactory|nexus|verdaccio)[^/\s"']*\//iu;

/** Files that name a registry. */
export function registryHosts(files: Files): readonly string[] {
  return [...files].flatMap(([path, text]) => {
    const found = registries.exec(text);
    return found === null ? [] : [`${path} names ${found[0]}`];
  });
}

/** Open ends that no issue keeps. */
export function openEnds(files: Files): readonly string[] {
  return [...files].flatMap(([path, text]) =>
    text
      .split('\n')
      .filter((line) => /\b(?:TODO|FIXME|XXX|HACK)\b(?!\(#\d+\))/u.test(line))
      .map((line) => `${path}: ${line.trim()}`),
  );
}

/** Names that more than one exported type has: a word means one thing. */
export function sharedNames(files: Files): readonly string[] {
  const places = new Map<string, string[]>();
  for (const [path, text] of files) {
    for (const [, name = ''] of text.matchAll(/^export (?:interface|type|class) (\w+)/gmu)) {
      places.set(name, [...(places.get(name) ?? []), path]);
    }
  }
  return [...places].filter(([, paths]) => paths.length > 1).map(([name, paths]) => `${name}: ${paths.join(', ')}`);
}

/** Names that say nothing about what a file does. */
export function emptyNames(files: Files): readonly string[] {
  return [...files.keys()].filter((path) => /(?:^|[/-])(?:utils?|helpers?|managers?|misc|common)\b/u.test(path));
}
