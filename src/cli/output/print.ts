import { stringify } from 'yaml';

/** A value for programs in the form of `-o`; undefined for a form that is for people. */
export function asData(output: string, value: unknown): string | undefined {
  if (output === 'json') return asJson(value);
  return output === 'yaml' ? stringify(value) : undefined;
}

/** A value for programs, as JSON. */
export function asJson(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
