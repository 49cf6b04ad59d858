/** Finds why an object is not Ready: the chain of objects that it waits for, down to the deepest cause. */
import { partsOfKey, referredBy, type ParsedObject } from '../../engine/objects/stored.ts';
import type { Reason } from '../../engine/kind/contract/reasons.ts';
import { remedies } from '../../crd/remedies.ts';
import { conditionOf, readinessOf, type Readiness } from '../cluster/objects.ts';

/** An object in a chain of causes, and the reason why it is not Ready. */
interface Step extends Omit<Readiness, 'ready'> {
  /** The key of the object: `Kind/namespace/name`. */
  readonly key: string;
}

/**
 * The state of an object: it is Ready, it waits for another object, a person must do something, or the state is
 * unknown.
 */
export type State = 'ready' | 'waits' | 'needsYou' | 'unknown';

/** Why one object is not Ready: a chain of objects, each of which waits for the next one. */
export interface Story {
  readonly key: string;
  readonly state: State;
  /** The chain from the object down to the deepest cause; empty if the object is Ready. */
  readonly chain: readonly Step[];
  /** The number of objects, besides this one, that wait for the deepest cause in this chain. */
  readonly others: number;
  readonly remedy: string | undefined;
  /** Pages of the documentation that say more about the remedy. */
  readonly pages: readonly string[];
}

type ByKey = ReadonlyMap<string, ParsedObject>;

/**
 * Finds, for each of `objects`, the chain of objects that it waits for. `all` must contain every object that can occur
 * in such a chain.
 */
export function storiesOf(objects: readonly ParsedObject[], all: readonly ParsedObject[]): readonly Story[] {
  const byKey = new Map(all.map((object) => [object.key, object]));
  const chains = new Map(all.map(({ key }) => [key, chainOf(key, byKey)]));
  const waiting = new Map<string, number>();
  for (const [key, chain] of chains) {
    const cause = chain.at(-1)?.key ?? key;
    if (cause !== key) waiting.set(cause, (waiting.get(cause) ?? 0) + 1);
  }
  return objects.map((object): Story => {
    const { key } = object;
    const chain = chains.get(key) ?? [];
    const last = chain.at(-1);
    if (last === undefined) return { key, state: 'ready', chain, others: 0, remedy: undefined, pages: [] };
    const total = waiting.get(last.key) ?? 0;
    const others = last.key === key ? total : total - 1;
    return { key, state: stateOf(object, last, byKey), chain, others, ...remedyOf(last.reason, byKey.has(last.key)) };
  });
}

/**
 * Returns the chain from an object down to the deepest cause: each object in the chain waits for the next one. Ends
 * before an object that is already in the chain, so that objects that wait for each other cause no endless loop.
 */
function chainOf(key: string, byKey: ByKey, above: readonly string[] = []): readonly Step[] {
  const object = byKey.get(key);
  if (object === undefined) {
    const { kind, namespace } = partsOfKey(key);
    const where = namespace === '' ? '' : ' in the namespace';
    const message = `there is no ${kind} with this name${where}`;
    return [{ key, reason: 'NotFound', message, since: undefined }];
  }
  const step = stepOf(object);
  if (step === undefined || above.includes(key)) return [];
  const next = behind(object, step, byKey);
  return [step, ...(next === undefined ? [] : chainOf(next, byKey, [...above, key]))];
}

/** Returns the reason and message why an object is not Ready; undefined if the object is Ready. */
function stepOf(one: ParsedObject): Step | undefined {
  const { ready, ...why } = readinessOf(one);
  return ready === 'True' ? undefined : { key: one.key, ...why };
}

/**
 * Returns the key of the object that this object waits for, even if no object with this key exists. Returns undefined
 * if this object waits for none.
 */
function behind(object: ParsedObject, { reason }: Step, byKey: ByKey): string | undefined {
  if (reason === 'AccountNotReady') return object.account;
  if (reason !== 'ReferenceNotReady') return undefined;
  const keys = referredBy(object);
  const isNotReady = (key: string) => {
    const found = byKey.get(key);
    return found !== undefined && stepOf(found) !== undefined;
  };
  return keys.find(isNotReady) ?? keys.find((key) => !byKey.has(key));
}

function stateOf(object: ParsedObject, last: Step, byKey: ByKey): State {
  if (last.reason === 'NotSeen') return 'unknown';
  const isStalled = [object, byKey.get(last.key)].some(
    (one) => one !== undefined && conditionOf(one, 'Stalled')?.status === 'True',
  );
  return isStalled || last.reason === 'NotFound' ? 'needsYou' : 'waits';
}

const createIt = 'Create the object, or correct its name in the resource that refers to the object.';
const startOperator = 'Start the operator, or check the installation with `apphosting doctor`.';

/**
 * Returns what to do if an object is not Ready for this reason, and the pages of the documentation about it. For an
 * object that does not exist, says to create the object or to correct its name.
 */
function remedyOf(reason: string, exists: boolean): Pick<Story, 'remedy' | 'pages'> {
  const ours = exists ? { NotSeen: startOperator }[reason] : createIt;
  const text = ours ?? (reason in remedies ? remedies[reason as Reason] : undefined);
  if (text === undefined) return { remedy: undefined, pages: [] };
  const pages = [...text.matchAll(/\]\(([^)#]+)[^)]*\)/g)].map(([, page = '']) => `docs/${page}`);
  return { remedy: text.replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1'), pages };
}
