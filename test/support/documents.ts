import { parseAllDocuments } from 'yaml';

/** A block of code in a document, as its reader meets it. */
export interface Block {
  /** `sh`, `console`, `ts`, … */
  readonly language: string;
  readonly text: string;
  /** What `<!-- trial: … -->` right above it says to the test that follows the page. */
  readonly note: string | undefined;
}

/** What a page has the reader do, from top to bottom; a note without a block is a step that is done by hand. */
export function blocksOf(page: string): readonly Block[] {
  const pieces = page.matchAll(/^<!-- trial: (?<note>[^\n]+) -->$|^```(?<language>\w+)\n(?<text>.*?)^```$/gmsu);
  const blocks: Block[] = [];
  let note: { readonly text: string; readonly end: number } | undefined;
  const alone = () => (note === undefined ? [] : [{ language: '', text: '', note: note.text }]);
  for (const { 0: whole, index, groups = {} } of pieces) {
    if (groups['note'] !== undefined) {
      blocks.push(...alone());
      note = { text: groups['note'], end: index + whole.length };
      continue;
    }
    const { language = '', text = '' } = groups;
    const isAbove = note !== undefined && page.slice(note.end, index).trim() === '';
    if (!isAbove) blocks.push(...alone());
    blocks.push({ language, text, note: isAbove ? note?.text : undefined });
    note = undefined;
  }
  return [...blocks, ...alone()];
}

/** A command of a `console` block, and what the page says that it prints. */
export interface Exchange {
  readonly command: string;
  readonly prints: string;
}

/** The commands of a `console` block: each begins with `$ `, and what follows is what it prints. */
export function exchangesIn(text: string): readonly Exchange[] {
  return text
    .split(/^\$ /mu)
    .slice(1)
    .map((one) => {
      const [command = '', ...rest] = one.split('\n');
      return { command, prints: rest.join('\n') };
    });
}

/** The rows of the table whose first column has this title, as cells. */
export function rowsOf(page: string, title: string): readonly (readonly string[])[] {
  const [, table = ''] = page.split(new RegExp(`^\\| *${title} *\\|.*\\n\\|[ |-]+\\|\\n`, 'mu'));
  const lines = table.split('\n');
  const end = lines.findIndex((line) => !line.startsWith('|'));
  return lines.slice(0, end).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

/** The text of a page without blocks of code, which may look like anything. */
const prose = (page: string) => page.replaceAll(/^(```+)\w*\n.*?^\1$/gmsu, '');

/** Where the links of a page lead, within the repository. */
export function linksIn(page: string): readonly string[] {
  const links = [...prose(page).matchAll(/\]\(([^)\s]+)\)/gu)].map(([, link = '']) => link);
  return links.filter((link) => !/^[a-z]+:/u.test(link));
}

/** The names by which a link reaches the headings of a page. */
export function anchorsOf(page: string): readonly string[] {
  const headings = [...prose(page).matchAll(/^#+ +(.+)$/gmu)].map(([, heading = '']) => heading);
  return headings.map((heading) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

/** A manifest of ours in a document. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec?: unknown;
}

/** What YAML a page shows, in blocks of its own and in what a shell is given; variables stand for something. */
export function yamlIn(page: string): readonly string[] {
  return blocksOf(page).flatMap(({ language, text }) => {
    if (language === 'yaml') return [text];
    return [...text.matchAll(/<<END\n(.*?)^END$/gmsu)].map(([, given = '']) => filledIn(given));
  });
}

/** The manifests of our kinds on a page. */
export function manifestsIn(page: string): readonly Manifest[] {
  return yamlIn(page)
    .filter((text) => text.includes('apiVersion: apphosting.dev/'))
    .flatMap((text) => parseAllDocuments(text).map((document) => document.toJS() as Manifest))
    .filter(({ apiVersion }) => apiVersion.startsWith('apphosting.dev/'));
}

/** What a shell would put in the place of variables and commands: a number, a time, or some name. */
function filledIn(text: string): string {
  return text
    .replaceAll(/\$\([^)]*[gG]eneration\)/gu, '1')
    .replaceAll(/"\$\([^)]*date [^)]*\)"/gu, '"2026-01-01T00:00:00Z"')
    .replaceAll(/\$\([^)]*\)|\$[A-Z_]+/gu, 'yours');
}
