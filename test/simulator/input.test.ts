import { describe, expect, it } from 'vitest';

import { box, type Box } from './box.ts';

const headers = { authorization: 'demo-admin', 'content-type': 'application/json' };

function send(on: Box, body: Uint8Array | string, more: object = {}) {
  return on.raw({ method: 'POST', url: '/api/public/v1/app', headers, body, ...more });
}

describe('a field that the interface does not name', () => {
  const app = { accountId: 'acc_demo', name: 'x', port: 80, prot: 81 };

  it('is ignored and shown in the request log', async () => {
    const on = box();
    const statuses = [
      (await on.post('/app', app)).status,
      (await on.get('/apps?acountId=acc_other')).status,
      (await on.post('/alert/refresh?dryRun=true', { alertId: 'none' })).status,
      (await on.get('/apps')).status,
    ];

    const { items } = (await on.control('GET', '/requests')).body;
    expect(statuses).toEqual([200, 200, 404, 200]);
    expect(items.map(({ unknownFields }: { unknownFields?: string[] }) => unknownFields)).toEqual([
      ['prot'],
      ['acountId'],
      ['dryRun'],
      undefined,
    ]);
  });

  it('is refused when the reading says so, and then nothing changes', async () => {
    const on = box({ readings: { 'fields.unknown': 'refused' } });
    const missing = { appId: 'app_none', prot: 81 };

    expect((await on.post('/app', app)).body).toEqual({ error: 'prot is not a field or parameter of this endpoint' });
    expect((await on.get('/apps?acountId=acc_other')).status).toBe(400);
    expect((await on.patch('/app', missing)).status).toBe(404);
    expect(on.ledger()).toEqual([]);
  });
});

describe('a body', () => {
  it('is refused in the form of errors when it is not what it should be, and nothing changes', async () => {
    const on = box();
    const name = '"accountId":"acc_demo","name":"x"';
    const table: readonly (readonly [Uint8Array | string, string])[] = [
      ['', 'nothing at all'],
      ['{', 'half an object'],
      ['hello', 'not JSON'],
      ['[]', 'a list'],
      ['null', 'null'],
      ['"text"', 'text'],
      ['7', 'a number'],
      [`{${name},"port":80}x`, 'something after the end'],
      [`{${name},"port":NaN}`, 'NaN'],
      [`{${name},"port":1e999}`, 'an infinite number'],
      [new Uint8Array([0x7b, 0xff, 0xfe, 0x7d]), 'bytes that are not UTF-8'],
      [Buffer.from(`\ufeff{${name},"port":80}`), 'a mark before the beginning'],
    ];

    for (const [body, because] of table) {
      const answer = await send(on, body);
      expect(answer.status, because).toBe(400);
      expect(answer.body, because).toEqual({ error: expect.any(String) });
    }
    expect(on.ledger()).toEqual([]);
  });

  it('is too large beyond 1 MiB, and the token is looked at first', async () => {
    const on = box();

    expect((await send(on, '', { tooLarge: true })).status).toBe(413);
    expect((await send(on, '', { tooLarge: true, headers: { ...headers, authorization: 'x' } })).status).toBe(401);
  });

  it('may hold words that look like prototypes where they are only names', async () => {
    const on = box();
    const body = '{"appEnvId":"env_web_prod","image":"x","envVars":{"constructor":"1","toString":"2"}}';
    const answer = await send(on, body, { url: '/api/public/v1/app-env/deploy-image' });

    expect(answer.status).toBe(200);
    expect((await on.control('GET', '/environments/env_web_prod')).body.envVars).toEqual({
      constructor: '1',
      toString: '2',
    });
  });

  it('does not get its fields from the prototype of objects', async () => {
    const on = box();

    expect((await on.get('/app?toString=1')).status).toBe(400);
    expect((await on.post('/app-env/redeploy', { envName: 'constructor' })).status).toBe(404);
    expect((await on.get('/app?appId=__proto__')).status).toBe(404);
  });

  it('is said to be JSON', async () => {
    const on = box();
    const body = '{"accountId":"acc_demo","name":"x","port":80}';
    const typed = (type?: string) => send(on, body, { headers: { ...headers, 'content-type': type } });

    for (const type of [undefined, 'text/plain', 'application/jsonp']) {
      expect((await typed(type)).status).toBe(400);
    }
    for (const type of ['application/json', 'Application/JSON; charset=UTF-8']) {
      expect((await typed(type)).status).toBe(200);
    }
  });
});

describe('an address', () => {
  it('is refused with 404 or 405 when nothing is there, and names what is', async () => {
    const on = box();
    const ask = (method: string, url: string) => on.raw({ method, url, headers });

    expect((await ask('GET', '/api/public/v1/nothing')).status).toBe(404);
    expect((await ask('GET', '/api/public/v1/apps/')).status).toBe(404);
    expect((await ask('GET', '/api/public/v1/')).status).toBe(404);
    expect((await ask('GET', '/elsewhere')).status).toBe(404);
    expect(await ask('PUT', '/api/public/v1/app')).toMatchObject({
      status: 405,
      headers: { allow: 'POST, GET, PATCH, DELETE' },
    });
    expect((await ask('DELETE', '/api/public/v1/apps')).status).toBe(405);
    expect((await on.get('/nothing', 'nobody')).status).toBe(401);
  });

  it('has query parameters that may be encoded, and are not empty', async () => {
    const on = box();

    expect((await on.get('/app?appId=')).status).toBe(400);
    expect((await on.get('/app?appId=app%5Fweb')).status).toBe(200);
  });
});
