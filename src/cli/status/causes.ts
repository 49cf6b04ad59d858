/** Why an object is not Ready: the chain of what it waits for, down to the deepest cause. */
import { partsOfKey, referredBy, type ParsedObject } from '../../engine/objects/stored.ts';
import type { Reason } from '../../engine/kind/contract/reasons.ts';
import { remedies } from '../../crd/remedies.ts';
import { conditionOf, isCurrent } from '../cluster/objects.ts';

/** One object in a chain of causes, and why it is not Ready. */
interface Step {
  /** The key of the object: `Kind/namespace/name`. */
  readonly key: string;
  readonly reason: string;
  readonly message: string;
  readonly since: string | undefined;
}

/** The state of an object: Ready, waiting, in need of a person, or unknown. */
export type State = 'ready' | 'waits' | 'needsYou' | 'unknown';

/** The chain of causes of one object. */
export interface Story {
  readonly key: string;
  readonly state: State;
  /** From the object down to the deepest cause; empty if the object is Ready. */
  readonly chain: readonly Step[];
  /** How many other objects wait for the same cause. */
  readonly others: number;
  readonly remedy: string | undefined;
  /** Pages of the documentation that say more about the remedy. */
  readonly pages: readonly string[];
}

type ByKey = ReadonlyMap<string, ParsedObject>;

/** Finds the chain of causes of each of these objects. */
export function storiesOf(objects: readonly ParsedObject[], all: readonly ParsedObject[]): readonly Story[] {
  const byKey = new Map(all.map((object) => [object.key, object]));
  const waiting = new Map<string, number>();
  for (const object of all) {
    const cause = chainOf(object, byKey).at(-1)?.key;
    if (cause !== undefined && cause !== object.key) waiting.set(cause, (waiting.get(cause) ?? 0) + 1);
  }
  return objects.map((object) => {
    const chain = chainOf(object, byKey);
    const last = chain.at(-1);
    const told = last === undefined ? undefined : remedyOf(last.reason);
    const total = last === undefined ? 0 : (waiting.get(last.key) ?? 0);
    return {
      key: object.key,
      state: stateOf(object, last, byKey),
      chain,
      others: Math.max(0, last?.key === object.key ? total : total - 1),
      remedy: told?.text,
      pages: told?.pages ?? [],
    };
  });
}

function chainOf(object: ParsedObject, byKey: ByKey): readonly Step[] {
  const chain: Step[] = [];
  let current: ParsedObject | undefined = object;
  while (current !== undefined && !chain.some(({ key }) => current !== undefined && key === current.key)) {
    const step = stepOf(current);
    if (step === undefined) break;
    chain.push(step);
    const next = behind(current, step, byKey);
    if (typeof next === 'string') {
      const { kind, namespace } = partsOfKey(next);
      const message = `there is no ${kind} of this name${namespace === '' ? '' : ' in the namespace'}`;
      return [...chain, { key: next, reason: 'NotFound', message, since: undefined }];
    }
    current = next;
  }
  return chain;
}

/** The reason and message why an object is not Ready; undefined if the object is Ready. */
function stepOf({ key, object, status }: ParsedObject): Step | undefined {
  const ready = conditionOf({ status }, 'Ready');
  if (ready === undefined || !isCurrent(object)) {
    const message =
      'no operator has looked at it since it was changed: is one running, and does it watch this namespace?';
    return { key, reason: 'NotSeen', message, since: ready?.since };
  }
  if (ready.status === 'True') return undefined;
  return { key, reason: ready.reason, message: ready.message, since: ready.since };
}

/** Finds the next cause behind an object: another object, the key of a missing object, or undefined. */
function behind(object: ParsedObject, { reason }: Step, byKey: ByKey): ParsedObject | string | undefined {
  if (reason === 'AccountNotReady') return byKey.get(object.account) ?? object.account;
  if (reason !== 'ReferenceNotReady') return undefined;
  const keys = referredBy(object);
  const missing = keys.find((key) => !byKey.has(key));
  const found = keys.flatMap((key) => byKey.get(key) ?? []);
  return found.find((one) => stepOf(one) !== undefined) ?? missing;
}

function stateOf(object: ParsedObject, last: Step | undefined, byKey: ByKey): State {
  if (last === undefined) return 'ready';
  if (last.reason === 'NotSeen') return 'unknown';
  const cause = byKey.get(last.key);
  const isStalled = [object, ...(cause === undefined ? [] : [cause])].some(
    (one) => conditionOf(one, 'Stalled')?.status === 'True',
  );
  return isStalled || last.reason === 'NotFound' ? 'needsYou' : 'waits';
}

const ours: Readonly<Record<string, string>> = {
  NotFound: 'Create it, or correct the name where the object above refers to it.',
  NotSeen: 'Start the operator, or look at its log: `apphosting doctor`.',
};

/** What to do about a reason, and the pages that say more. */
function remedyOf(reason: string): { readonly text: string; readonly pages: readonly string[] } | undefined {
  const text = ours[reason] ?? (reason in remedies ? remedies[reason as Reason] : undefined);
  if (text === undefined) return undefined;
  const pages = [...text.matchAll(/\]\(([^)#]+)[^)]*\)/g)].map(([, page = '']) => `docs/${page}`);
  return { text: text.replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1'), pages };
}
