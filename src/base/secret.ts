import { inspect } from 'node:util';

/** A value that must never be printed: every way of turning it into text gives `[secret]`. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The value itself. Only the transport, the fingerprint, comparisons and rules about values call it. */
  reveal(): string {
    return this.#value;
  }

  /** The same without the white space around it, such as the line end of the file that it came from. */
  trimmed(): Secret {
    return new Secret(this.#value.trim());
  }

  toString(): string {
    return '[secret]';
  }

  toJSON(): string {
    return '[secret]';
  }

  [inspect.custom](): string {
    return '[secret]';
  }
}
