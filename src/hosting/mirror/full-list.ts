/**
 * One full list of a read: all pages, or nothing.
 *
 * A page that was refused, does not parse, or points back to a page that was seen makes the whole list fail: half a list is
 * no list. A cursor that the service no longer takes is tried again once from the start. An item that shows up on two pages
 * (the list moved meanwhile) counts once, as it was seen last.
 */
import type { Read, ReadProblem, Request } from '../../engine/ports.ts';
import { problemOf, type Answer, type Seen } from '../wire/transport.ts';

const mostPages = 1000;

/** The result of a full list. */
export type Listed<Item> =
  | {
      readonly complete: true;
      /** Undefined when every page is, byte for byte, what it was in the list before. */
      readonly items: ReadonlyMap<string, Item> | undefined;
      /** Equal for equal lists. */
      readonly digest: string;
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

function failed(why: ReadProblem['why'], message: string, pages: number, retryAfterMs?: number): Listed<never> {
  return { complete: false, why, message, pages, retryAfterMs };
}

/** Reads all pages once; `known` is the digest of the list before. */
export async function fullList<Item>(
  read: Read<Item>,
  ask: (request: Request) => Promise<Seen>,
  known?: string,
): Promise<Listed<Item>> {
  const first = await listOnce(read, ask, known);
  const expired = !first.complete && first.why === 'refused' && first.pages > 1;
  return expired ? listOnce(read, ask, known) : first;
}

async function listOnce<Item>(
  read: Read<Item>,
  ask: (request: Request) => Promise<Seen>,
  known: string | undefined,
): Promise<Listed<Item>> {
  const answers: Answer[] = [];
  const asked = new Set<string>();
  let request: Request | undefined = read.first;
  while (request !== undefined) {
    const pages = answers.length + 1;
    const page = JSON.stringify(request.query ?? {});
    if (asked.has(page) || pages > mostPages) return failed('malformed', 'the pages of the list do not end', pages);
    asked.add(page);
    const seen: Seen = await ask(request);
    if (seen.was === 'answer' && seen.status === 404 && read.absentOn404 && pages === 1) {
      return { complete: true, items: new Map(), digest: 'absent', pages, dateMs: seen.dateMs };
    }
    const why = problemOf(seen);
    if (why !== undefined || seen.was !== 'answer') {
      const retryAfterMs = seen.was === 'answer' ? seen.retryAfterMs : undefined;
      return failed(why ?? 'unreachable', seen.message, pages, retryAfterMs);
    }
    answers.push(seen);
    request = read.next?.(seen.body);
  }
  const digest = answers.map((answer) => answer.digest).join();
  const items = digest === known ? undefined : itemsIn(read, answers);
  if (items === 'malformed')
    return failed('malformed', 'the answer is not what the interface promises', answers.length);
  return { complete: true, items, digest, pages: answers.length, dateMs: answers[0]?.dateMs };
}

function itemsIn<Item>(read: Read<Item>, answers: readonly Answer[]): ReadonlyMap<string, Item> | 'malformed' {
  const items = new Map<string, Item>();
  for (const { body } of answers) {
    const found = read.items(body);
    if (found === undefined) return 'malformed';
    for (const item of found) items.set(read.idOf(item), item);
  }
  return items;
}
