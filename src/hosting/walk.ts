/**
 * One walk of a read: all pages, or none of it.
 *
 * A page that was refused, does not parse, or points back to a page that was seen makes the whole walk fail: half a list is
 * no list. A cursor that the service no longer takes is tried again once from the start. An item that shows up on two pages
 * (the list moved meanwhile) counts once, as it was seen last.
 */
import type { Read, ReadProblem, Request } from '../engine/ports.ts';
import { problemOf, type Seen } from './outcome.ts';

const mostPages = 1000;

/** How a walk ended. */
export type Walked<Item> =
  | {
      readonly complete: true;
      readonly items: ReadonlyMap<string, Item>;
      readonly pages: number;
      readonly dateMs: number | undefined;
    }
  | {
      readonly complete: false;
      readonly why: ReadProblem['why'];
      readonly message: string;
      readonly pages: number;
      readonly retryAfterMs: number | undefined;
    };

function failed(why: ReadProblem['why'], message: string, pages: number, retryAfterMs?: number): Walked<never> {
  return { complete: false, why, message, pages, retryAfterMs };
}

/** Walks a read once. */
export async function walk<Item>(read: Read<Item>, ask: (request: Request) => Promise<Seen>): Promise<Walked<Item>> {
  const first = await walkOnce(read, ask);
  const expired = !first.complete && first.why === 'refused' && first.pages > 1;
  return expired ? walkOnce(read, ask) : first;
}

async function walkOnce<Item>(read: Read<Item>, ask: (request: Request) => Promise<Seen>): Promise<Walked<Item>> {
  const items = new Map<string, Item>();
  const seenPages = new Set<string>();
  let dateMs: number | undefined;
  let request: Request | undefined = read.first;
  for (let pages = 1; request !== undefined; pages += 1) {
    const page = JSON.stringify(request.query ?? {});
    if (seenPages.has(page) || pages > mostPages) return failed('malformed', 'the pages of the list do not end', pages);
    seenPages.add(page);
    const seen: Seen = await ask(request);
    if (seen.was === 'answer' && seen.status === 404 && read.absentOn404 && pages === 1) {
      return { complete: true, items, pages, dateMs: seen.dateMs };
    }
    const why = problemOf(seen);
    if (why !== undefined || seen.was !== 'answer') {
      const retryAfterMs = seen.was === 'answer' ? seen.retryAfterMs : undefined;
      return failed(why ?? 'unreachable', seen.message, pages, retryAfterMs);
    }
    dateMs ??= seen.dateMs;
    const found = read.items(seen.body);
    if (found === undefined) return failed('malformed', 'the answer is not what the interface promises', pages);
    for (const item of found) items.set(read.idOf(item), item);
    request = read.next?.(seen.body);
    if (request === undefined) return { complete: true, items, pages, dateMs };
  }
  return failed('malformed', 'the list has no first page', 0);
}
