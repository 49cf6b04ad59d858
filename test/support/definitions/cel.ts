import { Environment } from '@marcbachmann/cel-js';

/** A value as CEL knows it; whole numbers are bigint. */
export type CelValue =
  | null
  | boolean
  | bigint
  | number
  | string
  | readonly CelValue[]
  | { readonly [name: string]: CelValue };

type Check = (self: CelValue) => boolean;

const environment = new Environment({ enableOptionalTypes: true, unlistedVariablesAreDyn: true });
const compiled = new Map<string, Check>();

/** A CEL rule as a function; undefined for a transition rule. An error while evaluating counts as false. */
export function compileRule(rule: string): Check | undefined {
  if (/\boldSelf\b/.test(rule)) return undefined;
  const known = compiled.get(rule);
  if (known !== undefined) return known;
  const evaluate = environment.parse(rule);
  const check: Check = (self) => {
    try {
      return evaluate({ self }) === true;
    } catch {
      return false;
    }
  };
  compiled.set(rule, check);
  return check;
}
