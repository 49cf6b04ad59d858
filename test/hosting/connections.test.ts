import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { Secret } from '../../src/base/json.ts';
import { postContactPoint } from '../../src/hosting/requests.ts';
import { realClock } from '../support/real-time.ts';
import { hostingWith, serviceOf } from './support/around.ts';

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

const most = 100;
const creation = postContactPoint({
  accountId: 'acc',
  name: 'n',
  type: 'email',
  config: { addresses: ['ops@example.com'] },
});

/** A service that never answers whoever has the token `hangs`. */
async function hangingFor(hangs: string) {
  let hanging = 0;
  const arrived: (() => void)[] = [];
  const server = createServer((request: IncomingMessage, response) => {
    request.resume();
    if (request.headers.authorization === hangs) {
      hanging += 1;
      if (hanging === most) for (const tell of arrived) tell();
    } else response.end('{"id":"cp_1","contactPointId":"cp_1"}');
  });
  const allHang = new Promise<void>((resolve) => arrived.push(resolve));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.push(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  return { allHang, baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

it('a credential whose calls hang, as many as it may have, holds up no other credential at the same host', async () => {
  const { allHang, baseUrl } = await hangingFor('hangs');
  const hosting = hostingWith({ clock: realClock });
  const open = (token: string) => {
    const allowed = { pollSeconds: 60, requestsPerSecond: 1_000, concurrency: most };
    const account = { baseUrl, token: new Secret(token), caBundle: undefined, accountId: 'acc', ...allowed };
    return serviceOf(hosting, account);
  };
  const [hangs, other] = [open('hangs'), open('answers')];
  const now = { urgency: 'edit', mayDispatch: () => undefined } as const;
  const ended: string[] = [];
  const held = Array.from({ length: most }, () => hangs.send(creation, now).then(() => ended.push('hangs')));

  const answered = await other.send(creation, now);
  await allHang;

  expect(answered).toMatchObject({ is: 'committed' });
  expect(ended).toEqual([]);
  closers.push(async () => void (await Promise.all([...held, hangs.close(), other.close()])));
});
