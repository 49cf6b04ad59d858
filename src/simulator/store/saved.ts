import { collection } from './collection.ts';
import { linesOf, type PackedLines } from './packed-log.ts';
import type { KeptRequests, LoggedRequest } from './requests.ts';

/** Values of the simulator itself that are saved with its data, such as counters and the simulator options. */
export const settings = collection<{ readonly key: string; readonly value: unknown }>('settings', ({ key }) => key);

/** The details of a line in the change log, without secrets. */
export type Detail = Readonly<Record<string, unknown>>;

/** A change that is to be written to the change log. The store adds the number, the time and the cause. */
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

/** A line of the change log (`GET /_sim/ledger`): a change whose transaction succeeded. */
export interface Commit extends LedgerEntry {
  readonly seq: number;
  readonly at: number;
  /** The number of the request that caused the change; null if a timer or a control request (/_sim) caused it. */
  readonly requestSeq: number | null;
  /** True if a control request (/_sim) caused the change. */
  readonly control?: true;
  /** The id of the membership that gives the caller access to the account. */
  readonly membershipId?: string;
  /** The first characters of the caller's token; null if no token was used. */
  readonly token: string | null;
}

/** All data of the simulator as JSON. `GET /_sim/world` returns this form, and the flag `--world` reads it. */
export interface SavedWorld {
  readonly format: 'apphosting-simulator';
  readonly version: 1;
  readonly seed: string;
  readonly now: number;
  readonly ledgerSeq: number;
  readonly collections: Readonly<Record<string, readonly object[]>>;
  readonly ledger: readonly Commit[];
}

/**
 * The changes of one transaction in the form in which they are saved on disk. Each object that changed is saved with its collection and its
 * id; null stands for an object that was removed.
 */
export interface SavedStep {
  readonly at: number;
  readonly rows: readonly (readonly [collection: string, id: string, row: object | null])[];
  readonly ledger: readonly Commit[];
}

/** The first line of a state file: all data, and the change log and the request log, both compressed. */
export interface SavedState extends Omit<SavedWorld, 'ledger'> {
  readonly ledger: PackedLines;
  readonly requests: KeptRequests;
}

/** A line of a state file that records one public request. */
export interface RequestLine {
  readonly request: LoggedRequest;
}

/** True if the value is a JSON object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Validates saved data of the simulator, and returns it with its type; returns an error message if the data is not
 * valid.
 */
export function savedWorld(value: unknown, known: ReadonlySet<string>): SavedWorld | string {
  if (!isObject(value) || value['format'] !== 'apphosting-simulator')
    return 'the JSON is not saved data of this simulator';
  if (value['version'] !== 1) return 'the data was saved by another version of the simulator';
  const { seed, now, ledgerSeq, collections } = value;
  const ledger = linesOf(value['ledger']);
  if (ledger === undefined) return 'the change log "ledger" in the saved data is damaged';
  const isWhole = typeof seed === 'string' && typeof now === 'number' && typeof ledgerSeq === 'number';
  if (!isWhole || !isObject(collections))
    return 'the saved data must have the fields `seed`, `now`, `ledgerSeq` and `collections`';
  for (const [name, rows] of Object.entries(collections)) {
    if (!known.has(name)) return `the saved data has a collection "${name}" that this version does not know`;
    if (!Array.isArray(rows) || !rows.every(isObject))
      return `the collection "${name}" in the saved data is not a list of objects`;
  }
  return { ...value, ledger } as unknown as SavedWorld;
}
