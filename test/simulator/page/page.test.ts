import { createHash } from 'node:crypto';
import { Script } from 'node:vm';

import { describe, expect, it } from 'vitest';

import { alert, box, type Box, contactPoint, type Json } from '../box.ts';
import { setting } from '../disaster/setting.ts';

const host = '127.0.0.1:8088';
const page = (headers: Record<string, string> = { host }, method = 'GET', url = '/') =>
  box().raw({ method, url, headers });

function view(on: Box, known?: Json): Promise<Json> {
  const query = known === undefined ? '' : `?epoch=${known.epoch}&after=${known.revision}`;
  return on.control('GET', `/view${query}`).then(({ body }) => body);
}

describe('the page', () => {
  it('is one file of HTML at the root, also with a query', async () => {
    for (const url of ['/', '/?x=1']) {
      const { status, headers, text } = await page({ host }, 'GET', url);

      expect(status).toBe(200);
      expect(headers['content-type']).toBe('text/html; charset=utf-8');
      expect(text).toMatch(/^<!doctype html>/);
      expect(text).not.toMatch(/(?:src|href)="(?!data:|#)/);
    }
  });

  it('is served to loopback hosts only, never to another origin, and only read', async () => {
    expect((await page({ host: 'example.com' })).status).toBe(403);
    expect((await page({})).status).toBe(403);
    expect((await page({ host, origin: 'http://127.0.0.1:9' })).status).toBe(403);
    expect((await page({ host }, 'POST')).status).toBe(405);
    expect((await page({ host }, 'HEAD')).status).toBe(200);
  });

  it('lets nothing run but its own script, and no text become markup', async () => {
    const { headers, text } = await page();
    const policy = headers['content-security-policy'] ?? '';

    for (const name of ['script', 'style']) {
      const content = new RegExp(`<${name}>([^]*?)</${name}>`).exec(text)?.[1] ?? '';
      const hash = createHash('sha256').update(content).digest('base64');
      expect(policy).toContain(`${name}-src 'sha256-${hash}'`);
      expect(text.split(`<${name}`)).toHaveLength(2);
    }
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("require-trusted-types-for 'script'");
    expect(policy).not.toContain('unsafe');
    expect(text).not.toMatch(/innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|\son[a-z]+=["']| style="/);
  });
});

describe('the scripts of the page', () => {
  it('are put together into one that can be parsed, each name given once', async () => {
    const script = /<script>([^]*?)<\/script>/.exec((await page()).text)?.[1] ?? '';
    const declared = [...script.matchAll(/^(?:async )?(?:function|const|let|class) (\w+)/gmu)].map(([, name]) => name);

    expect(() => new Script(script)).not.toThrow();
    expect(declared.length).toBeGreaterThan(100);
    expect(declared.filter((name, n) => declared.indexOf(name) !== n)).toEqual([]);
    expect(script).not.toMatch(/^(?:import|export) /mu);
  });
});

describe('what the page reads', () => {
  it('is everything at first, then what changed', async () => {
    const on = box();
    const first = await view(on);
    const before = await view(on, first);
    await on.control('PATCH', '/regions/eu-west', { up: false });
    const { body } = await on.control('POST', '/faults', { match: {}, effect: { hang: true } });
    const changed = await view(on, first);
    await on.control('DELETE', `/faults/${body.faultId}`);
    const removed = await view(on, changed);

    expect(first).toMatchObject({ complete: true, mode: 'virtual' });
    expect(first.rows.environments).toHaveLength(5);
    expect(before).toMatchObject({ complete: false, rows: {}, removed: {} });
    expect(changed.rows.regions).toMatchObject([{ id: 'eu-west', up: false }]);
    expect(changed.rows.faults).toMatchObject([{ effect: 'hang', count: 1 }]);
    expect(Object.keys(changed.rows)).toEqual(['regions', 'faults']);
    expect(removed).toMatchObject({ rows: { faults: [] }, removed: { faults: [body.faultId] } });
  });

  it('is everything again for another world, and where too much has changed', async () => {
    const on = box();
    const first = await view(on);
    for (let n = 0; n < 60_000; n += 1) on.simulator.store.recent.note('apps', `app_${n}`, 0, undefined);
    const tooMuch = await view(on, first);
    await on.control('POST', '/reset', {});
    const other = await view(on, tooMuch);

    expect(tooMuch).toMatchObject({ complete: true, epoch: first.epoch });
    expect(other.complete).toBe(true);
    expect(other.epoch).not.toBe(first.epoch);
  });

  it('has tokens by name, and no other secret in it', async () => {
    const on = box();
    const secret = 'a-secret-value';
    const config = { integrationKey: secret };
    await on.post('/contact-point', { accountId: 'acc_demo', name: 'Pager', type: 'incident_service', config });
    const deployed = { appEnvId: 'env_web_prod', image: 'example/web:2', envVars: { KEY: secret } };
    expect((await on.post('/app-env/deploy-image', deployed)).status).toBe(200);
    await on.control('POST', '/faults', {
      match: { bodyContains: secret },
      effect: { status: 500, body: { secret }, headers: { authorization: secret } },
    });
    const text = JSON.stringify(await view(on));

    expect(text).toContain('"token":"demo-member"');
    expect(text).toContain('"name":"Pager"');
    expect(text).toContain('"variables":["KEY"]');
    expect(text).not.toContain(secret);
  });

  it('follows alerts and readings', async () => {
    const on = box();
    const first = await view(on);
    const alertId = await alert(on, { name: 'busy', duration: '1m' });
    await contactPoint(on, 'Other');
    await on.control('POST', '/metrics', { appEnvId: 'env_web_prod', metric: 'cpu_percent', value: 95 });
    on.advance(90_000);
    await on.readings({ 'errors.body': 'nested', 'rate.limit': 5 });
    const { rows, readings } = await view(on, first);

    expect(rows.alerts).toMatchObject([{ id: alertId, state: 'Firing', knownState: 'Normal' }]);
    expect(rows.contactPoints.map(({ name }: Json) => name)).toEqual(['On call', 'Other']);
    expect(rows.metrics).toMatchObject([{ value: 95 }]);
    expect(readings).toEqual({ 'errors.body': 'nested', 'rate.limit': 5 });
  });

  it('has the readiness of watched configurations at this moment, though nothing wrote them', async () => {
    const on = setting();
    const configurationId = await on.protect();
    const { body: first } = await on.control<Json>('GET', '/view');
    on.advance(1000);
    const known = `epoch=${first.epoch}&after=${first.revision}`;
    const { body: unwatched } = await on.control<Json>('GET', `/view?${known}`);
    const { body: watched } = await on.control<Json>('GET', `/view?${known}&watch=${configurationId}`);

    const age = first.rows.configurations[0].readiness.recoveryPointAgeMs;
    expect(unwatched.rows.configurations).toBeUndefined();
    expect(watched.rows.configurations[0].readiness).toMatchObject({ state: 'ready', recoveryPointAgeMs: age + 1000 });
  });
});
