import type { Paint } from '../cli/output.ts';
import type { Screen } from './binaries/progress.ts';
import { keyOf, type SandboxRow, stateOf, tableOf } from './table.ts';

/** The stream to which the table is written. A terminal also has a number of rows and columns. */
export interface TableScreen extends Screen {
  readonly rows?: number;
}

/** Shows the sandbox's resources: on a terminal a table that stays in place, elsewhere one line for each change. */
export interface Display {
  readonly show: (rows: readonly SandboxRow[]) => void;
  /** Prints a line of text; on a terminal it appears above the table of resources. */
  readonly line: (text: string) => void;
}

/** Makes a display for a terminal, on which the table stays in place. */
export function liveDisplay(screen: TableScreen, paint: Paint): Display {
  let shown: readonly string[] = [];
  const clear = () => (shown.length === 0 ? '' : `\u001B[${shown.length}A\u001B[J`);
  const draw = (above: string, lines: readonly string[]) => {
    const text = lines.map((line) => `${line}\n`).join('');
    screen.write(`${clear()}${above}${text}`);
    shown = lines;
  };
  return {
    show: (rows) => {
      const lines = tableOf(rows, { columns: screen.columns || 80, rows: (screen.rows || 24) - 1 }, paint);
      if (lines.join('\n') !== shown.join('\n')) draw('', lines);
    },
    line: (text) => draw(`${text}\n`, shown),
  };
}

/** Makes a display for a file or a pipe, to which one line is written for each change. */
export function plainDisplay(screen: Screen, stamp: () => string): Display {
  let last = new Map<string, string>();
  return {
    show: (rows) => {
      const now = new Map(rows.map((row) => [keyOf(row), stateOf(row)]));
      const changed = [...now].filter(([key, state]) => last.get(key) !== state);
      const gone = [...last.keys()].filter((key) => !now.has(key)).map((key) => [key, 'gone'] as const);
      for (const [key, state] of [...changed, ...gone]) screen.write(`${stamp()}  ${key}: ${state}\n`);
      last = now;
    },
    line: (text) => void screen.write(`${text}\n`),
  };
}
