import { columns, type Paint } from '../cli/output.ts';
import { isRecord } from '../base/json.ts';
import { conditionOf, isCurrent } from '../cli/cluster/objects.ts';
import type { KubeObject } from '../engine/ports.ts';

/** A row for one custom resource in the table that the sandbox shows. */
export type SandboxRow = Readonly<ReturnType<typeof rowOf>>;

/**
 * Makes the table row of a custom resource. `ready` is the status of the condition Ready; it is empty if the operator has not
 * yet written a status for the newest generation of the resource. `state` is the field `state` or `stage` of the status, if
 * there is one.
 */
export function rowOf(object: KubeObject) {
  const { kind, metadata, status } = object;
  const { namespace = '', name } = metadata;
  const current = isCurrent(object) ? conditionOf(object, 'Ready') : undefined;
  const { status: ready = '', reason = '', message = '' } = current ?? {};
  const told = isRecord(status) ? [status['state'], status['stage']] : [];
  const state = told.find((one) => typeof one === 'string') ?? '';
  return { kind, namespace, name, ready, reason, state, message };
}

/** Returns the key that identifies a row: kind, namespace and name. */
export function keyOf({ kind, namespace, name }: Pick<SandboxRow, 'kind' | 'namespace' | 'name'>): string {
  return namespace === '' ? `${kind} ${name}` : `${kind} ${namespace}/${name}`;
}

/** Describes in one line whether a resource is ready, and if not, why. The line does not contain the name of the resource. */
export function stateOf({ ready, reason, state, message }: SandboxRow): string {
  if (ready === '') return 'the operator has not reported a status yet';
  const shown = state === '' ? '' : `, ${state}`;
  if (ready === 'True') return `Ready${shown}`;
  const words = [reason, message].filter((part) => part !== '').join(': ');
  const why = words === '' ? '' : `, ${words}`;
  return `not ready${shown}${why}`;
}

const headings = ['KIND', 'NAME', 'READY', 'STATE', 'WHAT'];

/** Formats rows as the lines of a table that fits the width and the height of a terminal. */
export function tableOf(rows: readonly SandboxRow[], size: { columns: number; rows: number }, paint: Paint): string[] {
  const cells = rows.map((row) => [
    row.kind,
    row.namespace === '' || row.namespace === 'default' ? row.name : `${row.namespace}/${row.name}`,
    row.ready === '' ? '…' : row.ready,
    row.state,
    row.ready === 'True' ? '' : [row.reason, row.message].filter((part) => part !== '').join(': '),
  ]);
  const width = Math.max(20, size.columns - 1);
  const [head = '', ...lines] = columns([headings, ...cells]).map((line) => line.slice(0, width));
  const space = Math.max(1, size.rows - 2);
  const shown = lines.slice(0, rows.length > space ? space - 1 : space);
  const painted = shown.map((line, at) => paint(rows[at]?.ready === 'True' ? 'green' : 'yellow', line));
  const more = rows.length - shown.length;
  return [paint('dim', head), ...painted, ...(more > 0 ? [paint('dim', `… and ${more} more`)] : [])];
}
