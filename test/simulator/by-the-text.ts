import { expect } from 'vitest';

import { box, type Box, type Json } from './box.ts';

/**
 * One request and what the text says of its answer. `$name` in a path or a body stands for something that an earlier answer of the same
 * check was asked to `keep`. The status `4xx` is a refusal whose status the text does not show,
 * `error` a failure of which nothing is shown.
 */
export interface Step {
  readonly send: string;
  readonly body?: object;
  readonly as?: string;
  readonly status: number | '4xx' | 'error';
  readonly shows?: Json;
  /** Exactly these fields, no more and no fewer. */
  readonly fields?: readonly string[];
  /** Paths that lead to nothing. */
  readonly lacks?: readonly string[];
  /** The request fails and commits all the same. */
  readonly commits?: true;
  readonly keep?: Readonly<Record<string, string>>;
}

/** A sentence of the text with what it comes to; a number lets so much time pass. */
export type Check = readonly [because: string, ...steps: readonly (Step | number)[]];

/** What else a step says. */
export type More = Omit<Step, 'send' | 'body' | 'status'>;

/** A step. */
export function ask(send: string, body: object | undefined, status: number | '4xx' | 'error', more: More = {}): Step {
  return { send, status, ...(body === undefined ? {} : { body }), ...more };
}

/** Any value of a type. */
export const any = (type: 'string' | 'number' | 'boolean'): Json =>
  expect.any({ string: String, number: Number, boolean: Boolean }[type]);

function at(value: Json, path: string): Json {
  return path.split('.').reduce((inner, key) => inner?.[key], value);
}

async function sent(on: Box, { send, body, as = 'demo-admin' }: Step, kept: ReadonlyMap<string, string>) {
  const filled = (text: string) => text.replaceAll(/\$(\w+)/g, (_, name: string) => kept.get(name) ?? '');
  const [method = '', path = ''] = filled(send).split(' ');
  const value = body === undefined ? undefined : JSON.parse(filled(JSON.stringify(body)));
  if (path.startsWith('/_sim')) return on.control(method, path.slice('/_sim'.length), value);
  const text = value === undefined ? {} : { body: JSON.stringify(value) };
  const headers = { authorization: as, 'content-type': 'application/json' };
  return on.raw({ method, url: `/api/public/v1${path}`, headers, ...text });
}

/** The world without the faults that wait: a request uses them up. */
function worldOf(on: Box): string {
  const { collections, ...rest } = on.simulator.store.save();
  return JSON.stringify({ ...rest, collections: { ...collections, faults: [] } });
}

/** Runs a check; a number lets so much time pass. A public request that is refused leaves the world as it was. */
export async function holds([because, ...steps]: Check): Promise<void> {
  const on = box({ log: (line) => expect.unreachable(line) });
  const kept = new Map<string, string>();
  for (const step of steps) {
    if (typeof step === 'number') {
      on.advance(step);
      continue;
    }
    const before = worldOf(on);
    const answer = await sent(on, step, kept);
    const what = `${because}: ${step.send} ${JSON.stringify(step.body ?? '')} answered ${answer.text}`;
    if (step.status === 'error') expect(answer.status, what).toBeGreaterThanOrEqual(400);
    else if (step.status === '4xx') expect(Math.floor(answer.status / 100), what).toBe(4);
    else expect(answer.status, what).toBe(step.status);
    if (answer.status >= 400 && step.commits === undefined) expect(worldOf(on), what).toBe(before);
    for (const path of step.lacks ?? []) expect(at(answer.body, path), `${what} ${path}`).toBe(undefined);
    if (step.shows !== undefined) expect(answer.body, what).toMatchObject(step.shows);
    if (step.fields !== undefined)
      expect(Object.keys(answer.body).toSorted(), what).toEqual([...step.fields].toSorted());
    for (const [name, path] of Object.entries(step.keep ?? {})) kept.set(name, String(at(answer.body, path)));
  }
}
