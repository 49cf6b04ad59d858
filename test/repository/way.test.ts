import { readFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { aWorld, commits, conditionOf } from '../kinds/support/world.ts';

const root = join(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/architecture.md'), 'utf8');
/** The picture, and below it what it leaves out. */
const [, way = ''] = /## The way of one spec change\n([\s\S]*?)\n- /u.exec(page) ?? [];
const [, lookUp = ''] = /## Where to look\n([\s\S]*?)\n## /u.exec(page) ?? [];

/** What runs here in the place of a cluster, a clock and an API server, and is not the operator. */
const ofTheWorld = /^(simulator|cli\/in-memory|crd)\//;

/** The sockets, to which nothing comes in memory: an earlier test of this process may still close a connection. */
const ofSockets = /^(base\/collect|hosting\/wire\/wire|kube\/client\/(client|transport)|kube\/credentials\/.*)\.ts$/;

/** The files of `src` in which a function with a name runs while `work` does. */
async function filesOf(work: () => Promise<void>): Promise<readonly string[]> {
  const session = new Session();
  session.connect();
  onTestFinished(() => session.disconnect());
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  await session.post('Profiler.takePreciseCoverage');
  await work();
  const { result } = await session.post('Profiler.takePreciseCoverage');
  await session.post('Profiler.stopPreciseCoverage');
  const ran = result.filter(({ functions }) =>
    functions.some(({ functionName, ranges }) => functionName !== '' && (ranges[0]?.count ?? 0) > 0),
  );
  const files = ran.flatMap(({ url }) => /\/src\/([^?]+)/.exec(url)?.[1] ?? []);
  return [...new Set(files)].filter((file) => !ofTheWorld.test(file) && !ofSockets.test(file));
}

/** The files that a text does not name by folder and name; `schema.ts` alone is the name of many. */
function unnamedIn(text: string, files: readonly string[]): readonly string[] {
  const named = [...text.matchAll(/[\w./-]+\.ts\b/gu)].map(([path]) => `/${path}`);
  return files.filter((file) => {
    const tail = `/${file.split('/').slice(-2).join('/')}`;
    return named.every((path) => !path.endsWith(tail));
  });
}

it('a spec change of a ContactPoint passes at most 30 files, and docs/architecture.md names each', async () => {
  const world = await aWorld();
  world.apply('ContactPoint', 'x', { email: { addresses: ['a@example.com'] } });
  await world.run(300_000);
  expect(conditionOf(world, 'ContactPoint', 'x')).toBe('True/InSync');

  world.apply('ContactPoint', 'x', { email: { addresses: ['b@example.com'] } });
  const files = await filesOf(() => world.run(1_500));

  expect((await commits(world)).map(({ kind }) => kind)).toContain('contactPoint.updated');
  expect(world.get('ContactPoint', 'x')?.status).toMatchObject({ observedGeneration: 2 });
  expect(conditionOf(world, 'ContactPoint', 'x')).toBe('True/InSync');
  expect(files.length, files.join('\n')).toBeLessThanOrEqual(30);
  expect(unnamedIn(way, files)).toEqual([]);
});

it('would not leave out a file unnoticed whose name is on the page with another folder', () => {
  const files = ['kind/schema/schema.ts', 'contact-point/schema.ts', 'engine/call.ts', 'a/here.ts'];

  expect(unnamedIn('`schema/schema.ts`, call.ts, "src/a/here.ts<br/>"', files)).toEqual([
    'contact-point/schema.ts',
    'engine/call.ts',
  ]);
});

const rows = (lookUp.match(/^\| [A-Z].*\?.*\|$/gmu) ?? []).map((row) => row.split('|').slice(1, 3));

it.each(rows)('the answer of docs/architecture.md names files, and what is in them:%s', (_question, answer = '') => {
  const words = [...answer.matchAll(/`([^`]+)`/gu)].map(([, word = '']) => word);
  const files = words.filter((word) => word.endsWith('.ts'));
  const text = files.map((path) => readFileSync(join(root, 'src', path), 'utf8')).join('\n');

  const names = words.filter((word) => /^#?[a-zA-Z]+$/u.test(word));
  expect(names.filter((name) => !new RegExp(`(?<!\\w)${name}\\b`, 'u').test(text))).toEqual([]);
});
