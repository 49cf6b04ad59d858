import { collection } from './collection.ts';
import { linesOf, type PackedLines } from './packed-log.ts';
import type { KeptRequests, LoggedRequest } from './requests.ts';

/** The collection of the values of the simulator itself that are saved with the world, such as counters and the readings. */
export const settings = collection<{ readonly key: string; readonly value: unknown }>('settings', ({ key }) => key);

/** The details of a change in the ledger, without secrets. */
export type Detail = Readonly<Record<string, unknown>>;

/** A change of the world that a handler reports for the ledger. */
export interface LedgerEntry {
  /** The kind of the change, such as `contactPoint.created`. */
  readonly kind: string;
  /** The id of the object that changed. */
  readonly id: string;
  readonly accountId: string;
  /** The requestId that the caller sent, if the request had one. */
  readonly requestId?: string;
  readonly detail?: Detail;
}

/** A line of the ledger: a change that was committed. */
export interface Commit extends LedgerEntry {
  readonly seq: number;
  readonly at: number;
  /** The number of the request that caused the change; null if a timer or the control surface caused it. */
  readonly requestSeq: number | null;
  /** True if the control surface caused the change. */
  readonly control?: true;
  /** The membership that gave the caller access to the account. */
  readonly membershipId?: string;
  /** The first characters of the caller's token; null if no token was used. */
  readonly token: string | null;
}

/** The whole world as JSON. `--world` reads this form, and the control surface shows it. */
export interface SavedWorld {
  readonly format: 'apphosting-simulator';
  readonly version: 1;
  readonly seed: string;
  readonly now: number;
  readonly ledgerSeq: number;
  readonly collections: Readonly<Record<string, readonly object[]>>;
  readonly ledger: readonly Commit[];
}

/** A commit in the form that is saved on disk: the rows that changed, by collection and id; a removed row is null. */
export interface SavedStep {
  readonly at: number;
  readonly rows: readonly (readonly [collection: string, id: string, row: object | null])[];
  readonly ledger: readonly Commit[];
}

/** The first line of a state file: the world with its ledger compressed, and the request log. */
export interface SavedState extends Omit<SavedWorld, 'ledger'> {
  readonly ledger: PackedLines;
  readonly requests: KeptRequests;
}

/** A public request as a line of a state file. */
export interface RequestLine {
  readonly request: LoggedRequest;
}

/** True for a JSON object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Checks a value that should be a saved world; returns a sentence instead when it is not valid. */
export function savedWorld(value: unknown, known: ReadonlySet<string>): SavedWorld | string {
  if (!isObject(value) || value['format'] !== 'apphosting-simulator') return 'it is not a world of this simulator';
  if (value['version'] !== 1) return 'it was written by another version of the simulator';
  const { seed, now, ledgerSeq, collections } = value;
  const ledger = linesOf(value['ledger']);
  if (ledger === undefined) return 'its ledger is damaged';
  const isWhole = typeof seed === 'string' && typeof now === 'number' && typeof ledgerSeq === 'number';
  if (!isWhole || !isObject(collections)) return 'its seed, time, ledgerSeq or collections are missing';
  for (const [name, rows] of Object.entries(collections)) {
    if (!known.has(name)) return `it has a collection "${name}" that this version does not know`;
    if (!Array.isArray(rows) || !rows.every(isObject)) return `its collection "${name}" is not a list of objects`;
  }
  return { ...value, ledger } as unknown as SavedWorld;
}
