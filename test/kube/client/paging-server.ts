import type { Answering } from '../../support/scripted-server.ts';
import { json, scriptedServer } from '../../support/scripted-server.ts';

/** What lists are asked of. */
export interface Listed {
  readonly url: string;
  /** The limits that were asked for, in order. */
  readonly limits: readonly number[];
}

/** A server that lists objects in pages as an API server does, and whose watches say nothing. */
export async function pagingServer(kind: string, items: readonly object[]): Promise<Listed> {
  const limits: number[] = [];
  const answer: Answering = (response, { url }) => {
    const query = url.searchParams;
    if (query.get('watch') === 'true') {
      response.writeHead(200).flushHeaders();
      return;
    }
    const limit = Number(query.get('limit'));
    const from = Number(query.get('continue') ?? 0);
    limits.push(limit);
    const rest = from + limit < items.length ? { continue: String(from + limit) } : {};
    const metadata = { resourceVersion: '10', ...rest };
    json(response, 200, { kind: `${kind}List`, apiVersion: 'v1', metadata, items: items.slice(from, from + limit) });
  };
  const { url } = await scriptedServer(answer);
  return { url, limits };
}
