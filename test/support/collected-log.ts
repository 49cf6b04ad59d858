import type { Log } from '../../src/engine/ports.ts';

/** One line that was logged. */
export interface Line {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly fields: object;
  readonly message: string;
}

/** A log that a test can read. */
export class CollectedLog implements Log {
  readonly lines: Line[] = [];

  debug(fields: object, message: string): void {
    this.lines.push({ level: 'debug', fields, message });
  }

  info(fields: object, message: string): void {
    this.lines.push({ level: 'info', fields, message });
  }

  warn(fields: object, message: string): void {
    this.lines.push({ level: 'warn', fields, message });
  }

  error(fields: object, message: string): void {
    this.lines.push({ level: 'error', fields, message });
  }

  /** Messages that say that we made a mistake. */
  get bugs(): readonly string[] {
    return this.lines.filter(({ message }) => message.startsWith('bug:')).map(({ message }) => message);
  }
}
