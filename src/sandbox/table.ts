import { field, itemsOf, textOf } from './cluster.ts';

/** One custom resource in the table. */
export interface Row {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** True, False, Unknown, or empty while nobody has looked at it. */
  readonly ready: string;
  readonly reason: string;
  /** The state that the kind itself shows. */
  readonly state: string;
  readonly message: string;
}

/** A resource's row. Ready is what the newest generation was found to be. */
export function rowOf(kind: string, object: unknown): Row {
  const ready = itemsOf(object, 'status', 'conditions').find((condition) => field(condition, 'type') === 'Ready');
  const seen = field(ready, 'observedGeneration') ?? field(object, 'status', 'observedGeneration');
  const current = seen === field(object, 'metadata', 'generation');
  return {
    kind,
    namespace: textOf(field(object, 'metadata', 'namespace')),
    name: textOf(field(object, 'metadata', 'name')),
    ready: current ? textOf(field(ready, 'status')) : '',
    reason: current ? textOf(field(ready, 'reason')) : '',
    state: textOf(field(object, 'status', 'state')) || textOf(field(object, 'status', 'stage')),
    message: current ? textOf(field(ready, 'message')) : '',
  };
}

/** The identity of a row: kind, namespace and name. */
export function keyOf({ kind, namespace, name }: Pick<Row, 'kind' | 'namespace' | 'name'>): string {
  return namespace === '' ? `${kind} ${name}` : `${kind} ${namespace}/${name}`;
}

/** A row's state in one line, without its name. */
export function stateOf({ ready, reason, state, message }: Row): string {
  if (ready === '') return 'not looked at yet';
  const shown = state === '' ? '' : `, ${state}`;
  if (ready === 'True') return `Ready${shown}`;
  const why = [reason, message].filter((part) => part !== '').join(': ');
  return `not ready${shown}${why === '' ? '' : `, ${why}`}`;
}

/** The colours of a table, or none. */
export interface TablePaint {
  readonly good: (text: string) => string;
  readonly bad: (text: string) => string;
  readonly faint: (text: string) => string;
}

const esc = '\u001B[';

/** Colours for a terminal. */
export const colours: TablePaint = {
  good: (text) => `${esc}32m${text}${esc}39m`,
  bad: (text) => `${esc}33m${text}${esc}39m`,
  faint: (text) => `${esc}2m${text}${esc}22m`,
};

/** No colours. */
export const plain: TablePaint = { good: (text) => text, bad: (text) => text, faint: (text) => text };

const headings = ['KIND', 'NAME', 'READY', 'STATE', 'WHAT'] as const;

/** The table as lines that fit a terminal. */
export function tableOf(rows: readonly Row[], size: { columns: number; rows: number }, paint: TablePaint): string[] {
  const cells = rows.map((row) => [
    row.kind,
    row.namespace === '' || row.namespace === 'default' ? row.name : `${row.namespace}/${row.name}`,
    row.ready === '' ? '…' : row.ready,
    row.state,
    row.ready === 'True' ? '' : [row.reason, row.message].filter((part) => part !== '').join(': '),
  ]);
  const widths = headings.map((heading, at) => Math.max(heading.length, ...cells.map((row) => row[at]?.length ?? 0)));
  const lineOf = (row: readonly string[]) =>
    row
      .map((cell, at) => (at === row.length - 1 ? cell : cell.padEnd((widths[at] ?? 0) + 2)))
      .join('')
      .trimEnd()
      .slice(0, Math.max(20, size.columns - 1));
  const space = Math.max(1, size.rows - 2);
  const shown = cells.slice(0, rows.length > space ? space - 1 : space);
  const lines = shown.map((row) => (row[2] === 'True' ? paint.good : paint.bad)(lineOf(row)));
  const more = rows.length - shown.length;
  return [paint.faint(lineOf(headings)), ...lines, ...(more > 0 ? [paint.faint(`… and ${more} more`)] : [])];
}
