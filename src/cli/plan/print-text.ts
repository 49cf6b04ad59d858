import { columns, counted, type Paint } from '../output.ts';
import type { PlanAction, Plan, PlanField, PlanRow } from './model.ts';

/** How each action of a plan is printed: the sign and the colour of its rows, and the noun with which they are counted. */
export const marks = {
  create: { sign: '+', colour: 'green', noun: 'create' },
  change: { sign: '~', colour: 'yellow', noun: 'change' },
  access: { sign: '~', colour: 'yellow', noun: 'access change' },
  deploy: { sign: '!', colour: 'cyan', noun: 'deploy' },
  request: { sign: '!', colour: 'cyan', noun: 'request' },
  delete: { sign: '-', colour: 'red', noun: 'delete' },
  unknown: { sign: '?', colour: 'dim', noun: undefined },
} as const satisfies Readonly<Record<PlanAction, object>>;

const longest = 60;

/** Formats a plan as text. */
export function planAsText(plan: Plan, options: { readonly wide: boolean; readonly paint: Paint }): string {
  const { paint, wide } = options;
  const titleOf = titlesIn(plan);
  const table = (rows: readonly PlanRow[], indent: string) =>
    columns(rows.map((row) => [`${indent}${marks[row.action].sign} ${titleOf(row)}`, ...cellsOf(row, wide)]));
  const lines = table(plan.rows, '').map((line, at) => paint(marks[plan.rows[at]?.action ?? 'unknown'].colour, line));
  const head = `differences that exist already, without these manifests (${plan.drift.length}):`;
  const titles = [...new Set(plan.drift.map(titleOf))].join(', ');
  const drift = plan.drift.length === 0 ? [] : wide ? [head, ...table(plan.drift, '  ')] : [`${head} ${titles}`];
  const findings = plan.findings.map((finding) => paint('red', findingAsText(finding)));
  const notes = plan.notes.map((note) => paint('dim', `note: ${note}`));
  const blocks = [findings, lines, drift, notes].filter((block) => block.length > 0);
  return [...blocks.flatMap((block) => [...block]), summaryOf(plan), ''].join('\n');
}

/** Makes a function that names the resource of a row: `ContactPoint/on-call`, with the namespace if the plan covers several. */
export function titlesIn({ rows, drift }: Plan): (row: PlanRow) => string {
  const namespaces = new Set([...rows, ...drift].map(({ namespace }) => namespace));
  return ({ kind, namespace, name }) =>
    namespaces.size > 1 && namespace !== '' ? `${kind}/${namespace}/${name}` : `${kind}/${name}`;
}

function cellsOf(row: PlanRow, wide: boolean): readonly string[] {
  const place = row.file === undefined ? '' : `${row.file}:${row.line ?? 1}`;
  const names = row.fields.map(({ name }) => name).join(', ');
  if (row.action === 'unknown') return [names, row.note ?? '', place];
  const isListed = wide || (row.action !== 'create' && row.action !== 'deploy');
  const words = isListed ? row.fields.map((field) => fieldInWords(field)) : [];
  return [row.call ?? '', [...(row.note === undefined ? [] : [row.note]), ...words].join(', '), place];
}

/**
 * How an output format writes a changed field: its name, its values, and the arrow between the old and the new value.
 */
export interface FieldStyle {
  readonly name: (text: string) => string;
  readonly value: (text: string) => string;
  readonly arrow: string;
}

const plain: FieldStyle = { name: (text) => text, value: (text) => text, arrow: '->' };

/** Writes one changed field: `threshold 80 -> 85`. */
export function fieldInWords({ name, secret, before, after }: PlanField, style = plain): string {
  if (secret === true) return `${style.name(name)} (secret changes)`;
  const values = (before === undefined ? [after] : [before, after]).map((value) => style.value(valueAsText(value)));
  return `${style.name(name)} ${values.join(` ${style.arrow} `)}`;
}

/** Writes a value on one line, and cuts the line if it is too long. */
function valueAsText(value: unknown): string {
  const text = typeof value === 'string' && value !== '' ? value : (JSON.stringify(value) ?? '(none)');
  return text.length > longest ? text.slice(0, longest - 1).concat('…') : text;
}

/**
 * Writes a finding on one line: `x `, the file and line and the resource if they are known, the message, and the code in
 * brackets.
 */
export function findingAsText({ code, message, kind, name, file, line }: Plan['findings'][number]): string {
  const place = file === undefined ? '' : `${file}:${line ?? 1}: `;
  const of = kind === undefined ? '' : `${kind}/${name ?? ''}: `;
  return `x ${place}${of}${message} [${code}]`;
}

/** Counts the rows of each action, and the findings: `1 create, 2 changes`. Leaves out zeros. */
export function countsInWords({ counts, findings }: Plan): string {
  const rows = Object.entries(marks).map(([action, { noun }]) => {
    const count = counts[action] ?? 0;
    return noun === undefined ? `${count} ${action}` : counted(count, noun);
  });
  const parts = [...rows, counted(findings.length, 'finding')];
  return parts.filter((part) => !part.startsWith('0 ')).join(', ') || 'No changes';
}

/**
 * Writes the last line of a plan: how many changes and findings it has, what was read and when, and how long it takes
 * to send the calls.
 */
export function summaryOf(plan: Plan): string {
  const { asked, answered } = plan.reads;
  const at = plan.accounts
    .map(({ asOf }) => asOf.slice(11, 16))
    .toSorted()
    .at(-1);
  const when = at === undefined ? '' : `, ${at}Z`;
  const { total, seconds, requestsPerSecond } = plan.calls;
  const calls = counted(total, 'call');
  const time = total === 0 ? '' : ` ${calls}, at least ${seconds} s at ${requestsPerSecond} requests/s.`;
  const warning = plan.complete ? '' : ' INCOMPLETE: something could not be read, so there may be more changes.';
  return `${countsInWords(plan)}. ${answered} of ${asked} lists read${when}.${time}${warning}`;
}
