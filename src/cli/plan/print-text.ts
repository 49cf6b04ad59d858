import type { Paint } from '../output/colour.ts';
import { columns } from '../output/table.ts';
import type { PlanAction, Plan, PlanField, PlanRow } from './model.ts';

/** The sign of each action. */
export const signs: Readonly<Record<PlanAction, string>> = {
  create: '+',
  change: '~',
  access: '~',
  deploy: '!',
  request: '!',
  delete: '-',
  unknown: '?',
};

const colours = { '+': 'green', '~': 'yellow', '!': 'cyan', '-': 'red', '?': 'dim' } as const;
const longest = 60;

/** The plan as text. */
export function planAsText(plan: Plan, options: { readonly wide: boolean; readonly paint: Paint }): string {
  const { paint, wide } = options;
  const table = columns(plan.rows.map((row) => [`${signs[row.action]} ${titleOf(row, plan)}`, ...cellsOf(row, wide)]));
  const lines = table.map((line) => {
    const sign = line.slice(0, 1);
    return isSign(sign) ? paint(colours[sign], line) : line;
  });
  const drift = plan.drift.length === 0 ? [] : driftOf(plan, wide);
  const findings = plan.findings.map((finding) => paint('red', findingAsText(finding)));
  const notes = plan.notes.map((note) => paint('dim', `note: ${note}`));
  const blocks = [findings, lines, drift, notes].filter((block) => block.length > 0);
  return [...blocks.flatMap((block) => [...block]), summaryOf(plan), ''].join('\n');
}

function isSign(text: string): text is keyof typeof colours {
  return text in colours;
}

function driftOf(plan: Plan, wide: boolean): readonly string[] {
  const head = `already different, and not caused by this (${plan.drift.length}):`;
  if (!wide) return [`${head} ${[...new Set(plan.drift.map((row) => titleOf(row, plan)))].join(', ')}`];
  return [
    head,
    ...columns(plan.drift.map((row) => [`  ${signs[row.action]} ${titleOf(row, plan)}`, ...cellsOf(row, wide)])),
  ];
}

/** `ContactPoint/on-call`; with the namespace where the plan is about several. */
export function titleOf({ kind, namespace, name }: Pick<PlanRow, 'kind' | 'namespace' | 'name'>, plan: Plan): string {
  const namespaces = new Set([...plan.rows, ...plan.drift].map((row) => row.namespace));
  return namespaces.size > 1 && namespace !== '' ? `${kind}/${namespace}/${name}` : `${kind}/${name}`;
}

function cellsOf(row: PlanRow, wide: boolean): readonly string[] {
  const place = row.file === undefined ? '' : `${row.file}:${row.line ?? 1}`;
  const names = row.fields.map(({ name }) => name).join(', ');
  if (row.action === 'unknown') return [names, row.note ?? '', place];
  const isListed = wide || (row.action !== 'create' && row.action !== 'deploy');
  const told = [...(row.note === undefined ? [] : [row.note]), ...(isListed ? row.fields.map(fieldAsText) : [])];
  return [row.call ?? '', told.join(', '), place];
}

/** One field: `threshold 80 -> 85`. */
function fieldAsText(field: PlanField): string {
  if (field.secret === true) return `${field.name} (secret changes)`;
  const after = valueAsText(field.after);
  return field.before === undefined
    ? `${field.name} ${after}`
    : `${field.name} ${valueAsText(field.before)} -> ${after}`;
}

/** A value on one line, cut where it is long. */
export function valueAsText(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '(none)');
  return text.length > longest ? `${text.slice(0, longest - 1)}…` : text;
}

/** A finding on one line, with its place first. */
export function findingAsText({ code, message, kind, name, file, line }: Plan['findings'][number]): string {
  const place = file === undefined ? '' : `${file}:${line ?? 1}: `;
  const of = kind === undefined ? '' : `${kind}/${name ?? ''}: `;
  return `x ${place}${of}${message} [${code}]`;
}

const counted: readonly (readonly [PlanAction, string])[] = [
  ['create', 'create'],
  ['change', 'change'],
  ['access', 'access change'],
  ['deploy', 'deploy'],
  ['request', 'request'],
  ['delete', 'delete'],
];

/** `1 create, 2 changes`; what there is none of is left out. */
export function countsInWords({ counts, findings }: Plan): string {
  const { unknown = 0 } = counts;
  const parts = [
    ...counted.map(([action, word]) => plural(counts[action] ?? 0, word)),
    `${unknown} unknown`,
    plural(findings.length, 'finding'),
  ];
  return parts.filter((part) => !part.startsWith('0 ')).join(', ') || 'No changes';
}

function plural(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`;
}

/** The last line: what there is to do, what was read, when, and how long it takes. */
export function summaryOf(plan: Plan): string {
  const { asked, answered } = plan.reads;
  const at = plan.accounts
    .map(({ asOf }) => asOf.slice(11, 16))
    .toSorted()
    .at(-1);
  const when = at === undefined ? '' : `, ${at}Z`;
  const { total, seconds, requestsPerSecond } = plan.calls;
  const pace = `at least ${seconds} s at ${requestsPerSecond} requests/s`;
  const time = total === 0 ? '' : ` ${plural(total, 'call')}, ${pace}.`;
  const warning = plan.complete ? '' : ' INCOMPLETE: there may be more to do than this.';
  return `${countsInWords(plan)}. ${answered} of ${asked} lists read${when}.${time}${warning}`;
}
