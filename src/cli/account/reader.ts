/**
 * Reads one account of the service, at a limited number of requests per second. Guarantees: only GET requests are sent;
 * each address (path and query) is requested only once, and later reads of the address get the same response, so that
 * results do not contradict each other; a failed read is reported as failed, and never looks like an empty list.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { recordsIn, type Secret } from '../../base/json.ts';
import { hostRulesOf, UsageError, type hostFlags, type Settings } from '../../config.ts';
import type { Outcome, Request, Service } from '../../engine/ports.ts';
import { openHosting } from '../../hosting/service.ts';
import { realClock, realEntropy, silent, unmeasured } from '../machine.ts';
import { openReadingWire } from './reads-only.ts';

/** The result of one read of the service: its response, or the reason why the read failed. */
export type AccountReading =
  | { readonly is: 'answered'; readonly status: number; readonly body: unknown }
  /** The read failed. `why` gives the reason in one word, `message` in a sentence. */
  | { readonly is: 'failed'; readonly why: ReadFailure; readonly message: string };

/** The reason why a read of the service failed. */
export type ReadFailure = 'unauthorized' | 'forbidden' | 'throttled' | 'refused' | 'unreachable' | 'notInSnapshot';

/** A source of an account's data: the service, or a snapshot. Disposing of the reader closes the connection. */
export interface AccountReader {
  readonly accountId: string;
  /** The host and port at which the service is reached. */
  readonly endpoint: string;
  /** The time at which the data was read, in milliseconds since the epoch. */
  readonly asOfMs: number;
  read(request: Request): Promise<AccountReading>;
  /** Returns the addresses that were read so far, each with its result. */
  readings(): readonly (readonly [address: string, reading: AccountReading])[];
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Collects the items of one list from all responses that the reader has received for `path`, for example from all pages
 * of the list. `field` names the field of a response that holds the items.
 */
export function itemsRead(reader: Pick<AccountReader, 'readings'>, path: string, field: string) {
  return reader.readings().flatMap(([address, reading]) => {
    const isOfPath = address === path || address.startsWith(`${path}?`);
    return isOfPath && reading.is === 'answered' ? recordsIn(reading.body, field) : [];
  });
}

/** The credential of an account: the address of the service and a token. */
export interface GivenCredential {
  readonly accountId: string;
  readonly baseUrl: string;
  readonly token: Secret;
  readonly caBundle?: string;
  /** The flag or the Secret that gave the base URL, as error messages name it. */
  readonly source: string;
  /**
   * The account resource that was read from the cluster to find this credential. Undefined if the credential was found
   * in another way, for example by flags.
   */
  readonly of?: { readonly kind: string; readonly name: string };
}

/** A callback that reports the progress of a reader, and a signal that ends its reads. */
export interface Reports {
  /**
   * Called when the read of an address has ended, even if it failed, with the number of addresses that were read so far.
   * Not called for a repeated read of an address, which sends no request.
   */
  readonly onRead?: (count: number) => void;
  /** The signal that ends all reads when it is aborted. */
  readonly signal?: AbortSignal;
}

const mostTries = 6;
const longestPauseMs = 30_000;

/** Returns the address of a read: its path and its sorted query. */
export function addressOf({ path, query = {} }: Pick<Request, 'path' | 'query'>): string {
  const rows = Object.entries(query).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return rows.length === 0 ? path : `${path}?${new URLSearchParams(rows).toString()}`;
}

/**
 * Opens a connection to the service with the credential of an account. Returns a reader, which reads the account and
 * cannot change anything.
 */
export function openAccount(
  { accountId, baseUrl, token, caBundle, source: named }: GivenCredential,
  settings: Settings<typeof hostFlags> & { readonly requestsPerSecond: number },
  reports: Reports = {},
): AccountReader {
  const hostRules = hostRulesOf(settings);
  const open = openReadingWire(hostRules, realClock);
  const around = { clock: realClock, entropy: realEntropy, log: silent, metrics: unmeasured };
  const hosting = openHosting({ ...around, callDeadlineMs: 30_000, hostRules, wire: open.wire });
  const pace = { pollSeconds: 3_600, requestsPerSecond: settings.requestsPerSecond, concurrency: 4 };
  const service = hosting.open({ accountId, baseUrl, token, caBundle, ...pace }, () => undefined);
  if ('refused' in service) throw new UsageError(`${named} ${baseUrl}: ${service.refused}`);
  const close = async () => {
    await service.close();
    await open.close();
  };
  const source = { accountId, endpoint: service.endpoint, asOfMs: realClock.wall(), [Symbol.asyncDispose]: close };
  return readingOnce(source, (request) => persistently(service, request, reports.signal), reports.onRead);
}

/**
 * Makes a reader that requests each address only once, by calling `ask`, and returns the same result for every later
 * read of that address. After each call of `ask`, calls `onRead` with the number of addresses that were read so far.
 */
export function readingOnce(
  source: Omit<AccountReader, 'read' | 'readings'>,
  ask: (request: Request) => Promise<AccountReading>,
  onRead?: Reports['onRead'],
): AccountReader {
  const asked = new Map<string, Promise<AccountReading>>();
  const answers = new Map<string, AccountReading>();
  const askOnce = async (address: string, request: Request) => {
    const reading = await ask(request);
    answers.set(address, reading);
    onRead?.(answers.size);
    return reading;
  };
  return {
    ...source,
    read: (request) => {
      const address = addressOf(request);
      const known = asked.get(address) ?? askOnce(address, request);
      asked.set(address, known);
      return known;
    },
    readings: () => [...answers],
  };
}

/** Sends one read to the service; tries again after a pause if the service throttles the read or the connection fails. */
async function persistently(service: Service, request: Request, signal?: AbortSignal): Promise<AccountReading> {
  const mayDispatch = () => (signal?.aborted === true ? 'stopped' : undefined);
  for (let tries = 1; ; tries += 1) {
    const outcome = await service.send(request, { urgency: 'edit', mayDispatch });
    const pauseMs = tries < mostTries ? pauseBefore(outcome, tries) : undefined;
    if (pauseMs === undefined || signal?.aborted === true) return readingOf(request, outcome);
    await sleep(pauseMs, undefined, { ...(signal && { signal }) }).catch(() => undefined);
  }
}

/** Returns the pause before a failed read is tried again, in milliseconds; undefined if another try is useless. */
function pauseBefore(outcome: Outcome, tries: number): number | undefined {
  if (outcome.is === 'notExecuted' && outcome.why === 'throttled')
    return Math.min(outcome.retryInMs ?? 1_000 * tries, longestPauseMs);
  return outcome.is === 'inDoubt' && tries < 3 ? 500 * tries : undefined;
}

function readingOf(request: Request, outcome: Outcome): AccountReading {
  const failed = (why: ReadFailure, message: string): AccountReading => {
    return { is: 'failed', why, message: `${request.endpoint}: ${message}` };
  };
  switch (outcome.is) {
    case 'committed':
      return { is: 'answered', status: 200, body: outcome.body };
    case 'notFound':
      return { is: 'answered', status: 404, body: { message: outcome.message } };
    case 'notExecuted':
      return failed(outcome.why, outcome.message);
    case 'refused':
    case 'conflict':
      return failed('refused', outcome.message);
    case 'notSent':
    case 'inDoubt':
      return failed('unreachable', outcome.message);
  }
}
