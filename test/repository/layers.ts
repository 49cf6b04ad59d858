/**
 * Who may import whom. A folder not in the table may not exist; a rule that is looser than the design is a decision.
 *
 * `engine/ports.ts` and `base/` are what the layers have in common; the simulator shares nothing, not even those.
 */
interface Layer {
  /** Files below `src` that it may import: a folder ends with `/`, `type ` in front allows types only. */
  readonly sees: readonly string[];
  /** Packages besides zod that it may import; `all` for the files that put everything together. */
  readonly packages: readonly string[] | 'all';
  /** Modules of Node that it may import; `all` where it does I/O. */
  readonly node: readonly string[] | 'all';
}

const pure = ['node:buffer', 'node:crypto', 'node:util'];

/** The layers, by the beginning of a path below `src`; the longest that fits counts. */
const layers: Readonly<Record<string, Layer>> = {
  'main.ts': { sees: [''], packages: 'all', node: 'all' },
  'cli/': { sees: [''], packages: 'all', node: 'all' },
  'sandbox/': { sees: [''], packages: 'all', node: 'all' },
  'config.ts': { sees: [], packages: [], node: 'all' },
  'base/': { sees: ['base/'], packages: ['undici'], node: pure },
  'engine/': { sees: ['engine/', 'base/'], packages: [], node: pure },
  'engine/kind/': { sees: ['engine/kind/', 'engine/ports.ts', 'base/'], packages: [], node: pure },
  'kinds/': {
    sees: ['kinds/', 'engine/kind/', 'type engine/ports.ts', 'type hosting/', 'hosting/requests.ts', 'base/'],
    packages: [],
    node: pure,
  },
  'hosting/': {
    sees: ['hosting/', 'engine/ports.ts', 'base/'],
    packages: ['undici', 'p-queue', 'ipaddr.js'],
    node: 'all',
  },
  'kube/': {
    sees: ['kube/', 'engine/ports.ts', 'base/'],
    packages: ['undici', '@kubernetes/client-node', 'openid-client', 'p-queue', 'yaml'],
    node: 'all',
  },
  'crd/': { sees: ['crd/', 'kinds/', 'engine/kind/', 'base/'], packages: ['yaml'], node: 'all' },
  'telemetry/': {
    sees: ['telemetry/', 'type engine/ports.ts', 'base/'],
    packages: ['pino', 'prom-client'],
    node: 'all',
  },
  'simulator/': { sees: ['simulator/'], packages: [], node: 'all' },
};

/** Layers that may not even use zod. */
const withoutZod = new Set(['simulator/', 'base/']);

interface Import {
  readonly from: string;
  readonly typesOnly: boolean;
}

/** Everything that a file imports, statically, by re-export or with `import()`. */
export function importsOf(source: string): readonly Import[] {
  const code = source.replaceAll(/^\s*(?:\/\/|\*|\/\*).*$/gmu, '');
  const statements = code.matchAll(/^\s*(?:import|export)\b([^;'"]*?)\bfrom\s*['"]([^'"]+)['"]/gmsu);
  const bare = code.matchAll(/^\s*import\s*['"]([^'"]+)['"]/gmu);
  const dynamic = code.matchAll(/\bimport\(\s*['"]([^'"]+)['"]/gu);
  return [
    ...[...statements].map(([, what = '', from = '']) => ({ from, typesOnly: /^\s*type\b/u.test(what) })),
    ...[...bare, ...dynamic].map(([, from = '']) => ({ from, typesOnly: false })),
  ];
}

/** What breaks the rules in these files, by path below `src`. */
export function violations(files: ReadonlyMap<string, string>): readonly string[] {
  return [...files].flatMap(([path, source]) => {
    const name = Object.keys(layers)
      .filter((prefix) => path === prefix || (prefix.endsWith('/') && path.startsWith(prefix)))
      .toSorted((a, b) => b.length - a.length)[0];
    const layer = name === undefined ? undefined : layers[name];
    if (name === undefined || layer === undefined) return [`${path} is in no layer`];
    const imported = importsOf(source)
      .filter((one) => !isAllowed(path, name, layer, one))
      .map(({ from, typesOnly }) => `${path} may not import ${typesOnly ? 'types of ' : ''}${from}`);
    return [...imported, ...(readsEnvironment(path, source) ? [`${path} may not read the environment`] : [])];
  });
}

function isAllowed(path: string, name: string, layer: Layer, { from, typesOnly }: Import): boolean {
  if (from.startsWith('.')) {
    const target = new URL(from, `file:///${path}`).pathname.slice(1);
    return layer.sees.some((seen) => {
      const place = seen.replace(/^type /u, '');
      if (seen !== place && !typesOnly) return false;
      return place === '' || target === place || (place.endsWith('/') && target.startsWith(place));
    });
  }
  if (from.startsWith('node:')) return layer.node === 'all' || layer.node.includes(from);
  if (layer.packages === 'all') return true;
  if (from === 'zod') return !withoutZod.has(name);
  return layer.packages.some((allowed) => from === allowed || from.startsWith(`${allowed}/`));
}

function readsEnvironment(path: string, source: string): boolean {
  if (path === 'config.ts') return false;
  return /\bprocess\s*\.\s*env\b|\bprocess\[['"]env['"]\]|import\s*\{[^}]*\benv\b[^}]*\}\s*from\s*['"]node:process['"]/u.test(
    source,
  );
}

/** The rooms of two folders, floor by floor from below: a room may use those on lower floors of its folder, and no other. */
export const floors = {
  engine: [
    ['ports.ts'],
    ['kind/'],
    ['options.ts', 'queue.ts', 'objects/'],
    ['account/'],
    ['context/'],
    ['call.ts'],
    ['reconcile.ts'],
    ['engine.ts'],
  ],
  simulator: [
    ['http/', 'bad-option.ts'],
    ['store/'],
    ['service/'],
    ['public/', 'page/'],
    ['control/'],
    ['simulator.ts'],
    ['listen.ts'],
    ['start.ts'],
    ['main.ts'],
  ],
} as const satisfies Record<string, readonly (readonly string[])[]>;

/** Imports between the rooms of one folder, of types as well, that go up a floor or across one. */
export function upwards(files: ReadonlyMap<string, string>): readonly string[] {
  return Object.entries(floors).flatMap(([folder, levels]) => {
    const isInside = (path: string) => path.startsWith(`${folder}/`);
    const roomOf = (path: string) => path.split('/')[1] ?? '';
    const floorOf = (path: string) =>
      levels.findIndex((rooms) => rooms.some((room: string) => room.replace('/', '') === roomOf(path)));
    return [...files].flatMap(([path, source]) => {
      if (!isInside(path)) return [];
      if (floorOf(path) < 0) return [`${path} is on no floor`];
      return importsOf(source).flatMap(({ from }) => {
        const target = from.startsWith('.') ? new URL(from, `file:///${path}`).pathname.slice(1) : '';
        if (!isInside(target) || roomOf(target) === roomOf(path)) return [];
        return floorOf(target) < floorOf(path) ? [] : [`${path} may not import ${target}: it is not on a lower floor`];
      });
    });
  });
}

/** Groups of files that import one another in a circle, types included. */
export function circles(files: ReadonlyMap<string, string>): readonly string[] {
  const targets = new Map(
    [...files].map(([path, source]) => [
      path,
      importsOf(source).flatMap(({ from }) => {
        const target = from.startsWith('.') ? new URL(from, `file:///${path}`).pathname.slice(1) : '';
        return files.has(target) ? [target] : [];
      }),
    ]),
  );
  const done = new Set<string>();
  const found: string[] = [];
  const visit = (path: string, way: readonly string[]): void => {
    if (way.includes(path)) found.push([...way.slice(way.indexOf(path)), path].join(' → '));
    if (done.has(path) || way.includes(path)) return;
    for (const target of targets.get(path) ?? []) visit(target, [...way, path]);
    done.add(path);
  };
  for (const path of files.keys()) visit(path, []);
  return found;
}

/** The most files that a folder of source holds beside each other. */
const mostFiles = 15;

/** Folders in which a reader has to search. */
export function crowded(files: ReadonlyMap<string, string>): readonly string[] {
  const counts = new Map<string, number>();
  for (const path of files.keys()) {
    const folder = path.split('/').slice(0, -1).join('/');
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  return [...counts].filter(([, count]) => count > mostFiles).map(([folder, count]) => `${folder} has ${count} files`);
}
