import { describe, expect, it } from 'vitest';
import type { Request } from '../../../src/engine/ports.ts';
import {
  contactPointsOf,
  deleteContactPoint,
  contactPointWithSecretsOf,
  patchAlert,
  postContactPoint,
} from '../../../src/hosting/requests.ts';
import { openTransport, type Transport } from '../../../src/hosting/wire/transport.ts';
import { Secret } from '../../../src/base/json.ts';
import { answer, nothingUntil, scriptedWire, type Script, type ScriptedWire } from '../support/scripted-wire.ts';
import { VirtualClock } from '../../../src/cli/in-memory/virtual-clock.ts';

const listing = contactPointsOf('acc').first;
const creation = postContactPoint({
  accountId: 'acc',
  name: 'On call',
  type: 'webhook',
  config: { url: new Secret('https://hooks.example/planted-secret') },
});

function opened(script: Script): ScriptedWire & { readonly clock: VirtualClock; readonly transport: Transport } {
  const scripted = scriptedWire(script);
  const clock = new VirtualClock();
  const target = {
    origin: 'https://api.example.com',
    basePath: '/v',
    token: new Secret('planted-token'),
    caBundle: undefined,
  };
  return { ...scripted, clock, transport: openTransport(target, scripted.wire, clock, 30_000) };
}

describe('the transport', () => {
  it('sends the token bare, the query encoded, and a body with its secrets revealed', async () => {
    const { transport, requests } = opened(() => answer(200, {}));

    await transport({ ...listing, query: { accountId: 'a b&c'.replace(' ', '+') } });
    await transport(creation);

    expect(requests[0]).toMatchObject({
      method: 'GET',
      path: '/v/api/public/v1/contact-points?accountId=a%2Bb%26c',
      body: undefined,
      writes: false,
      headers: { authorization: 'planted-token', 'accept-encoding': 'identity' },
    });
    expect(requests[0]?.headers).not.toHaveProperty('content-type');
    expect(requests[1]).toMatchObject({ writes: true, headers: { 'content-type': 'application/json' } });
    expect(JSON.parse(requests[1]?.body ?? '')).toMatchObject({
      config: { url: 'https://hooks.example/planted-secret' },
    });
  });

  it.each([
    { request: listing, seconds: 10 },
    { request: creation, seconds: 30 },
  ])('gives up $request.endpoint after $seconds s, and then it is lost', async ({ request, seconds }) => {
    const { transport, clock } = opened(() => undefined);
    const seen = transport(request);

    await clock.advance(seconds * 1000 - 1);
    const early = await Promise.race([seen, Promise.resolve('waiting')]);
    await clock.advance(1);

    expect(early).toBe('waiting');
    expect(await seen).toEqual({ was: 'lost', message: `no answer from the service within ${seconds} s` });
  });

  it('gives up sooner for a caller whose time is up sooner', async () => {
    const { transport, clock } = opened(() => undefined);
    const seen = transport(creation, { deadline: clock.monotonic() + 12_000 });

    await clock.advance(12_000);

    expect(await seen).toEqual({ was: 'lost', message: 'no answer from the service within 12 s' });
  });

  it('calls a request not sent when the deadline passes before its bytes go out', async () => {
    const clock = new VirtualClock();
    const target = { origin: 'https://h', basePath: '', token: new Secret('t'), caBundle: undefined };
    const transport = openTransport(target, ({ signal }) => nothingUntil(signal), clock, 30_000);

    const seen = transport(creation);
    await clock.advance(30_000);

    expect(await seen).toMatchObject({ was: 'notSent' });
  });

  it('sends nothing that may not go out', async () => {
    const { transport, requests } = opened(() => answer(200, {}));

    const seen = await transport(creation, { mayStart: () => 'the lease is lost' });

    expect(seen).toEqual({ was: 'notSent', hostNotAllowed: false, message: 'the lease is lost' });
    expect(requests).toEqual([]);
  });

  it('shows the words of a refusal on one line, without the token, without addresses, and cut', async () => {
    const error = `bad planted-token\nfor https://hooks.example/x?sig=1 ${'x'.repeat(300)}`;
    const { transport } = opened(() => answer(400, { error }));

    const seen = await transport(deleteContactPoint('c'));

    expect(seen.message).toMatch(/^the service answered 400: bad \[credential\] for \[url\] x+…$/);
    expect(seen.message.length).toBeLessThanOrEqual(200);
  });

  it.each([
    { request: creation, because: 'it carried one' },
    { request: contactPointWithSecretsOf('c', undefined).first, because: 'it asked for one' },
  ])('shows no word of an answer to a request about a secret: $because', async ({ request }) => {
    const { transport } = opened(() => answer(400, { error: 'any word may be the secret' }));

    const seen = await transport(request);

    expect(seen.message).toBe(
      'the service answered 400 (the message of the service is not shown, because the request was about a secret)',
    );
  });

  it('keeps of an answer to a request that carried a secret what is no text', async () => {
    const body = {
      contactPointId: 'cp_1',
      name: 'a word',
      createdAt: '2026-01-01T00:00:00Z',
      updatedAt: 'no time',
      bodyId: 'two words',
      success: true,
      count: 2,
      nothing: null,
      apps: ['app_1', 'not one', { appId: 'app_2', note: 'a word' }],
      tags: ['a word'],
    };
    const { transport } = opened(() => answer(200, body));

    const [carrying, plain] = [await transport(creation), await transport(listing)];

    expect(carrying).toMatchObject({ readable: true });
    expect(carrying.was === 'answer' && carrying.body).toEqual({
      contactPointId: 'cp_1',
      createdAt: '2026-01-01T00:00:00Z',
      success: true,
      count: 2,
      nothing: null,
      apps: ['app_1', { appId: 'app_2' }],
      tags: [],
    });
    expect(plain.was === 'answer' && plain.body).toEqual(body);
  });

  it.each([
    {
      body: { success: false, message: 'busy with planted-token' },
      said: ': busy with [credential]',
      because: 'it failed',
    },
    { body: { error: 'in use', details: '2 alerts' }, said: ': in use: 2 alerts', because: 'it is an error' },
    { body: { error: { message: 'in use' } }, said: ': in use', because: 'it is an error in an object' },
    { body: { success: true, message: 'stopped' }, said: '', because: undefined },
    { body: { appId: 'app_1', error: null }, said: '', because: undefined },
  ])('reads a no from the body $body of a status that says yes', async ({ body, said, because }) => {
    const { transport } = opened(() => answer(200, body));

    const seen = await transport(deleteContactPoint('c'));

    expect(seen).toMatchObject({ saysNo: because !== undefined, message: `the service answered 200${said}` });
  });

  it.each([
    { text: '{"a":1,"a":2}', body: { a: 2 }, because: 'the last of two equal keys counts' },
    { text: '<html>', body: undefined, because: 'it is not JSON' },
    { text: '', body: undefined, because: 'it is empty' },
    { text: '{"a":', body: undefined, because: 'it is cut' },
    { text: '['.repeat(200_000), body: undefined, because: 'it is nested without end' },
  ])('reads $body from a body because $because', async ({ text, body }) => {
    const { transport } = opened(() => ({ status: 200, headers: {}, text }));

    const seen = await transport(listing);

    expect(seen).toMatchObject({ was: 'answer', status: 200, readable: body !== undefined });
    expect(seen.was === 'answer' ? seen.body : 'no answer').toEqual(body);
  });

  it('lets no key of an answer reach a prototype', async () => {
    const point =
      '{"contactPointId":"cp_1","name":"a","type":"email","__proto__":{"polluted":1},"constructor":{"x":1}}';
    const text = `{"contactPoints":[${point}],"__proto__":{"polluted":1}}`;
    const { transport } = opened(() => ({ status: 200, headers: {}, text }));

    const [read, created] = [await transport(listing), await transport(creation)];

    const bodies = [read, created].map((seen) => (seen.was === 'answer' ? seen.body : undefined));
    const [item] = contactPointsOf('acc').items(bodies[0]) ?? [];
    expect(item).toMatchObject({ contactPointId: 'cp_1', name: 'a', type: 'email' });
    expect([...bodies, item, {}].map((value) => (value as { polluted?: 1 }).polluted)).toEqual(
      Array(4).fill(undefined),
    );
    expect([...bodies, item].map((value) => Object.getPrototypeOf(value))).toEqual(Array(3).fill(Object.prototype));
  });

  it('takes the time of the service from its Date', async () => {
    const date = 'Thu, 01 Jan 2026 00:00:10 GMT';
    const later = 'Thu, 01 Jan 2026 00:00:40 GMT';
    const { transport } = opened(() => answer(429, {}, { date, 'retry-after': later }));

    const seen = await transport(listing);

    expect(seen).toMatchObject({ dateMs: Date.UTC(2026, 0, 1, 0, 0, 10), retryAfterMs: 30_000 });
  });
});

describe('a request that must not be sent', () => {
  const bad: readonly { readonly request: Request; readonly because: string }[] = [
    { request: deleteContactPoint(''), because: 'its id is empty' },
    { request: deleteContactPoint('../apps'), because: 'its id is a path' },
    { request: deleteContactPoint('..'), because: 'its id is a path' },
    { request: deleteContactPoint('a\r\nx: y'), because: 'its id breaks lines' },
    { request: deleteContactPoint('a?b=c'), because: 'its id holds a query' },
    { request: deleteContactPoint('a%2fb'), because: 'its id is encoded already' },
    { request: { ...creation, body: {} }, because: 'its body lacks what is required' },
    { request: { ...creation, body: { ...creation.body, name: '' } }, because: 'its name is empty' },
    { request: { ...creation, body: { ...creation.body, extra: 1 } }, because: 'its body has an unknown field' },
    { request: { ...creation, body: { ...creation.body, type: 'pigeon' } }, because: 'there is no such type' },
    { request: { ...deleteContactPoint('cp_1'), body: {} }, because: 'no endpoint of the interface takes such a body' },
  ];

  it.each(bad)('stays here because $because', async ({ request }) => {
    const { transport, requests } = opened(() => answer(200, {}));

    const seen = await transport(request);

    expect(seen).toMatchObject({ was: 'invalid', message: expect.stringContaining('the request is not valid') });
    expect(requests).toEqual([]);
  });

  it('stays here when a field is undefined or a number is none', async () => {
    const { transport, requests } = opened(() => answer(200, {}));
    const odd = [undefined, Number.NaN, Number.POSITIVE_INFINITY, () => 1, 1n];

    for (const threshold of odd) {
      const body: unknown = { alertId: 'a', threshold };
      // A caller without types may build such a body.
      const request: Request = { ...patchAlert({ alertId: 'a' }), body: body as NonNullable<Request['body']> };
      expect(await transport(request)).toMatchObject({ was: 'invalid' });
    }
    expect(requests).toEqual([]);
  });
});
