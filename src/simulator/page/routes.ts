import { ok } from '../area.ts';
import type { Clockwork } from '../clockwork.ts';
import { type OwnRoute, own } from '../control/surface.ts';
import type { RequestLog } from '../store/requests.ts';
import { fill, shownForms } from './forms/fill.ts';
import { viewOf } from './view.ts';

interface Parts {
  readonly clockwork: Clockwork;
  readonly requests: RequestLog;
}

/** The routes that only the page uses. */
export function pageRoutes({ clockwork, requests }: Parts): readonly OwnRoute[] {
  return [
    own(
      'GET /view',
      'the world as the page shows it, without secrets; with epoch= and after=REVISION only what changed',
      ({ query }) => ok(viewOf(clockwork, requests, query)),
    ),
    own('GET /forms', 'every request with its fields, as the page offers them', () => ok({ items: shownForms() })),
    own(
      'POST /forms',
      'a request filled in from the world: {method, path, token?, given?: {FIELD: VALUE}}',
      ({ body }) => {
        const filled = clockwork.transact(undefined, (world) => fill(world, body, requests.log.lastSeq));
        return ok(filled.result);
      },
    ),
  ];
}
