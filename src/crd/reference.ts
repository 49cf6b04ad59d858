/**
 * Builds the reference page of each kind, and the tables of docs/troubleshooting.md. If a page exists, replaces only the
 * parts between the markers of generated text.
 */
import { group, type KindIdentity, version } from '../engine/kind/contract/define.ts';
import { reasons, type Reason } from '../engine/kind/contract/reasons.ts';
import { rulesKey, type CelRule } from '../engine/kind/schema/schema.ts';
import { schemasOf } from './manifest.ts';
import { canHave, chapters, remedies } from './remedies.ts';
import type { Structural } from './structural.ts';
import { withPart } from './text.ts';

/** Returns the file name of a kind's page without its extension, such as `contact-point`. */
export function pageName(kind: string): string {
  return kind.replaceAll(/(?<=[a-z])(?=[A-Z])/gu, '-').toLowerCase();
}

/** Replaces the generated parts of a kind's page. If the page does not exist yet, builds a new one. */
export function page(kind: KindIdentity, existing: string | undefined, sample: string): string {
  const { spec, status } = schemasOf(kind);
  const parts: Readonly<Record<string, string>> = {
    identity: identityTable(kind),
    example: `\`\`\`yaml\n${sample.trim()}\n\`\`\``,
    spec: fieldTable(spec),
    rules: ruleList(spec),
    status: fieldTable(status),
    reasons: reasonTable(all.filter((reason) => canHave(kind.kind, reason))),
  };
  return renewed(existing ?? skeleton(kind), parts, `docs/kinds/${pageName(kind.kind)}.md`);
}

/** Renews the tables of the troubleshooting page, which list what to do about each reason. */
export function troubleshooting(existing: string): string {
  const parts = Object.entries(chapters).map(
    ([chapter, table]) => [chapter, reasonTable(Object.keys(table) as Reason[], '')] as const,
  );
  return renewed(existing, Object.fromEntries(parts), 'docs/troubleshooting.md');
}

function renewed(page: string, parts: Readonly<Record<string, string>>, path: string): string {
  return Object.entries(parts).reduce((text, [name, body]) => withPart(text, name, body, path), page);
}

function skeleton(kind: KindIdentity): string {
  const slot = (name: string) => `<!-- generated:begin ${name} -->\n<!-- generated:end ${name} -->`;
  return [
    `# ${kind.kind}`,
    kind.summary,
    slot('identity'),
    '## Example',
    slot('example'),
    '## In the above example',
    '## Writing a spec',
    slot('spec'),
    'Rules between fields:',
    slot('rules'),
    `## Working with ${/^[AEIOU]/u.test(kind.kind) ? 'an' : 'a'} ${kind.kind}`,
    '## Status',
    slot('status'),
    'The reasons of the conditions:',
    slot('reasons'),
    '',
  ].join('\n\n');
}

function identityTable(kind: KindIdentity): string {
  const row = (name: string, value: string) => `| ${name} | ${value} |`;
  return [
    row('apiVersion', `\`${group}/${version}\``),
    '| --- | --- |',
    row('kind', `\`${kind.kind}\``),
    row('kubectl', [kind.plural, ...kind.shortNames].map((name) => `\`${name}\``).join(', ')),
    row('scope', kind.scope === 'Namespaced' ? 'one namespace' : 'the cluster'),
    row('field selectors', kind.selectable.map((path) => `\`${path.slice(1)}\``).join(', ')),
    '',
    'Features of every kind, such as annotations and `lifecycle`, are described in [resources.md](../resources.md).',
  ].join('\n');
}

interface Field {
  readonly path: string;
  readonly node: Structural;
  readonly required: boolean;
  /** True for a field; false for the items of a list and the values of a map, which have no names of their own. */
  readonly isNamed: boolean;
}

/** Lists everything below a node of a schema: its fields, the items of its lists and the values of its maps. */
function fieldsOf(node: Structural, path: string): readonly Field[] {
  const { properties = {}, required = [], items, additionalProperties: values } = node;
  const unnamed = (at: string, child: Structural) => ({ path: at, node: child, required: false, isNamed: false });
  const below: readonly Field[] = [
    ...Object.entries(properties).map(([name, child]) => {
      const at = path === '' ? name : `${path}.${name}`;
      return { path: at, node: child, required: required.includes(name), isNamed: true };
    }),
    ...(items === undefined ? [] : [unnamed(`${path}[]`, items)]),
    ...(values === undefined ? [] : [unnamed(`${path}.<name>`, values)]),
  ];
  return below.flatMap((field) => [field, ...fieldsOf(field.node, field.path)]);
}

function fieldTable(root: Structural): string {
  const named = fieldsOf(root, '').filter(({ isNamed }) => isNamed);
  const rows = named.map(({ path, node, required }) => {
    const need = required ? ' **required**' : '';
    return `| \`${path}\`${need} | ${typeOf(node)} | ${cell(node.description)} |`;
  });
  return ['| Field | Type | Meaning |', '| --- | --- | --- |', ...rows].join('\n');
}

function typeOf(node: Structural): string {
  if (node.enum !== undefined) return node.enum.map((word) => `\`${word}\``).join(' ');
  if (node.items !== undefined) return `list, at most ${number(node['maxItems'])}`;
  if (node.additionalProperties !== undefined) return `map, at most ${number(node['maxProperties'])}`;
  if (node.type === 'string') return lengthOf(node['minLength'], number(node['maxLength']));
  if (node.type === 'integer') return `integer, ${number(node['minimum'])} to ${number(node['maximum'])}`;
  return node.type;
}

function lengthOf(least: unknown, most: string): string {
  return typeof least === 'number' && least > 1
    ? `text, ${number(least)} to ${most} characters`
    : `text, at most ${most}`;
}

function number(value: unknown): string {
  return typeof value === 'number' ? value.toLocaleString('en') : '';
}

function ruleList(root: Structural): string {
  const fields = fieldsOf(root, '');
  const [named, unnamed] = [fields.filter(({ isNamed }) => isNamed), fields.filter(({ isNamed }) => !isNamed)];
  const lines = [{ path: '', node: root }, ...named, ...unnamed].flatMap(({ path, node }) =>
    ((node[rulesKey] ?? []) as readonly CelRule[]).map(
      ({ message }) => `- ${path === '' ? '' : `\`${path}\`: `}${cell(message)}`,
    ),
  );
  return lines.length === 0 ? 'None.' : [...new Set(lines)].join('\n');
}

const all = Object.values(chapters).flatMap((chapter) => Object.keys(chapter) as Reason[]);

/**
 * Builds a table of condition reasons, each with its meaning and what to do. `up` is the relative path from the page
 * with the table to the folder docs.
 */
function reasonTable(names: readonly Reason[], up = '../'): string {
  const rows = names.map((name) => {
    const remedy = remedies[name].replaceAll('](', `](${up}`);
    return `| \`${name}\` | ${cell(reasons[name])} | ${cell(remedy)} |`;
  });
  return ['| Reason | What it means | What to do |', '| --- | --- | --- |', ...rows].join('\n');
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;');
}
