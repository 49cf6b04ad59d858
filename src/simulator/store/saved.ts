import { collection } from './collection.ts';
import { linesOf, type PackedLines } from './packed-log.ts';
import type { KeptRequests, LoggedRequest } from './requests.ts';

/** A value of the simulator itself that is part of its world: counters, readings. */
export interface Setting {
  readonly key: string;
  readonly value: unknown;
}

/** The simulator's own values. */
export const settings = collection<Setting>('settings', (setting) => setting.key);

/** A change of the world as a handler reports it. */
export interface Entry {
  /** For example `contactPoint.created`. */
  readonly kind: string;
  /** The id of what changed. */
  readonly id: string;
  readonly accountId: string;
  /** The caller's own reference, where the request carries one. */
  readonly requestId?: string;
  /** The details of the change, without secrets. */
  readonly detail?: Readonly<Record<string, unknown>>;
}

/** One line of the ledger: a change that is part of the world now. */
export interface Commit extends Entry {
  readonly seq: number;
  readonly at: number;
  /** The request that caused it; null for what happened by itself or was done through the control surface. */
  readonly requestSeq: number | null;
  /** It was done through the control surface. */
  readonly control?: true;
  /** The membership by which the caller was let into the account. */
  readonly membershipId?: string;
  /** The first characters of the caller's token. */
  readonly token: string | null;
}

/** The whole state as JSON: what `--state` keeps, `--world` reads and the control surface shows. */
export interface SavedWorld {
  readonly format: 'apphosting-simulator';
  readonly version: 1;
  readonly seed: string;
  readonly now: number;
  readonly ledgerSeq: number;
  readonly collections: Readonly<Record<string, readonly object[]>>;
  readonly ledger: readonly Commit[];
}

/** One commit as it is kept on disk: rows by collection and id, null for a removed one. */
export interface SavedStep {
  readonly at: number;
  readonly rows: readonly (readonly [collection: string, id: string, row: object | null])[];
  readonly ledger: readonly Commit[];
}

/** The first line of a state file: the world with its ledger packed, and the request log, which is no part of the world. */
export interface SavedState extends Omit<SavedWorld, 'ledger'> {
  readonly ledger: PackedLines;
  readonly requests: KeptRequests;
}

/** One public request as it is kept on disk until the state is written anew. */
export interface RequestLine {
  readonly request: LoggedRequest;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Reads a world from JSON; a sentence instead of a world says why it is none. */
export function savedWorld(value: unknown, known: ReadonlySet<string>): SavedWorld | string {
  if (!isObject(value) || value['format'] !== 'apphosting-simulator') return 'it is not a world of this simulator';
  if (value['version'] !== 1) return 'it was written by another version of the simulator';
  const { seed, now, ledgerSeq, collections } = value;
  const ledger = linesOf(value['ledger']);
  if (ledger === undefined) return 'its ledger is damaged';
  if (typeof seed !== 'string' || typeof now !== 'number' || !isObject(collections)) return 'its head is incomplete';
  for (const [name, rows] of Object.entries(collections)) {
    if (!known.has(name)) return `it has a collection "${name}" that nobody knows`;
    if (!Array.isArray(rows) || !rows.every(isObject)) return `its collection "${name}" is not a list of objects`;
  }
  return {
    format: 'apphosting-simulator',
    version: 1,
    seed,
    now,
    ledgerSeq: typeof ledgerSeq === 'number' ? ledgerSeq : 0,
    collections: collections as SavedWorld['collections'],
    ledger: ledger as readonly Commit[],
  };
}
